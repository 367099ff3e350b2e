#include "policy/prediction/run_time.hpp"

#include <algorithm>
#include <limits>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline prediction {

void RunTimePredictor::add(History& history, std::int64_t run_ms, std::uint64_t end) const {
  if (history.recent_ms.size() == recent_runs_) history.recent_ms.erase(history.recent_ms.begin());
  history.recent_ms.push_back(run_ms);
  history.last_end = end;
}

std::int64_t RunTimePredictor::mean(const History& history) {
  Wide sum = 0;
  for (const std::int64_t run_ms : history.recent_ms) sum += run_ms;
  return static_cast<std::int64_t>(sum / static_cast<Wide>(history.recent_ms.size()));
}

void RunTimePredictor::finished(std::string_view task_class, TenantId id, std::int64_t run_ms) {
  FAIRWATER_CHECK(run_ms >= 0, "a run takes some time or none");
  Tenant& tenant = tenants_[id];
  const std::uint64_t end = tenant.all.last_end + 1;
  add(tenant.all, run_ms, end);
  const auto [found, is_new] = tenant.classes.try_emplace(std::string(task_class));
  if (!is_new) tenant.by_last_end.erase(found->second.last_end);
  add(found->second, run_ms, end);
  tenant.by_last_end.emplace(end, found->first);
  if (tenant.classes.size() <= kMaxClasses) return;
  const auto oldest = tenant.by_last_end.begin();
  tenant.classes.erase(oldest->second);
  tenant.by_last_end.erase(oldest);
}

std::optional<Prediction> RunTimePredictor::expected(std::string_view task_class, TenantId id,
                                                     std::optional<std::int64_t> limit_ms) const {
  std::optional<Prediction> prediction;
  if (limit_ms) prediction = Prediction{*limit_ms, PredictionSource::limit};
  const auto tenant = tenants_.find(id);
  if (tenant == tenants_.end()) return prediction;
  const auto found = tenant->second.classes.find(task_class);
  prediction = found == tenant->second.classes.end()
                   ? Prediction{mean(tenant->second.all), PredictionSource::tenant}
                   : Prediction{mean(found->second), PredictionSource::task_class};
  if (limit_ms) prediction->expected_ms = std::min(prediction->expected_ms, *limit_ms);
  return prediction;
}

std::int64_t expected_total_ms(const Prediction& prediction, std::int64_t ran_ms,
                               std::optional<std::int64_t> limit_ms) {
  Wide expected = std::max<std::int64_t>(prediction.expected_ms, 1);
  while (expected <= ran_ms) expected *= 2;
  if (limit_ms) expected = std::min<Wide>(expected, std::max(*limit_ms, ran_ms + 1));
  return static_cast<std::int64_t>(
      std::min<Wide>(expected, std::numeric_limits<std::int64_t>::max()));
}

void PredictionErrors::add(std::int64_t expected_ms, std::int64_t run_ms) {
  const Wide off = Wide{expected_ms} - run_ms;
  ++runs_;
  exceeded_ += off < 0 ? 1 : 0;
  absolute_ms_ += off < 0 ? -off : off;
}

std::int64_t PredictionErrors::mean_absolute_ms() const {
  return runs_ == 0 ? 0 : static_cast<std::int64_t>(absolute_ms_ / static_cast<Wide>(runs_));
}

}  // namespace fairwater::inline policy::inline prediction
