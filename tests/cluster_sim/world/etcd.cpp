#include "tests/cluster_sim/world/etcd.hpp"

#include <algorithm>
#include <utility>

#include "storage/etcd/etcd_text.hpp"

namespace fairwater::cluster_sim {
namespace {

using nlohmann::json;

constexpr const char* kTransaction = "/v3/kv/txn";

caf::error no_leader() {
  return make_error(ErrorCode::unavailable, "the simulated etcd has no leader");
}

std::string key(const char* name) { return std::string(kEtcdPrefix) + name; }

}  // namespace

void EtcdCluster::mend() {
  no_quorum_until_us = electing_until_us = 0;
  max_delay_us = 4 * kMs;
  loses_permille = repeats_permille = 0;
}

JournalHead EtcdCluster::head() const {
  return head_.empty() ? JournalHead{} : *etcd_text::head_in(head_);
}

std::optional<std::int64_t> EtcdCluster::deposed_at_us(std::uint64_t epoch) const {
  const auto next = began_at_us_.upper_bound(epoch);
  return next == began_at_us_.end() ? std::nullopt : std::optional(next->second);
}

std::uint64_t EtcdCluster::oldest_record() const {
  const auto first = model_.first_key(key("/j/"));
  return first ? std::strtoull(first->substr(key("/j/").size()).c_str(), nullptr, 16) : 0;
}

json EtcdCluster::carry_out(const std::string& path, const json& request) {
  if (path != kTransaction) return json::object();
  json answer = model_.transact(request);
  if (request.at("compare").empty()) return answer;  // it changes no head
  auto head = model_.value(key("/head"));
  if (head && *head != head_) {
    head_ = std::move(*head);
    const std::uint64_t epoch = etcd_text::head_in(head_)->epoch;
    if (began_at_us_.emplace(epoch, stage_.time.now_us()).second)
      stage_.log.line("epoch {} begins", epoch);
  }
  return answer;
}

void EtcdCluster::propose_in_vain(const std::string& path, const Request& request,
                                  const Answer& answer, std::int64_t until_us) {
  const auto fate = stage_.chance.below(10);
  if (fate < 4) return;
  if (fate < 6) return answer(no_leader());
  const bool is_answered = fate < 8;
  stage_.time.at(until_us + stage_.chance.spread(200, 50 * kMs),
                 [this, path, request, answer, is_answered] {
                   json done = carry_out(path, *request);
                   if (is_answered) answer(std::move(done));
                 });
}

void EtcdCluster::take(const std::string& path, const Request& request, const Answer& answer) {
  const auto leaderless_until_us = std::max(no_quorum_until_us, electing_until_us);
  if (stage_.time.now_us() < leaderless_until_us)
    return propose_in_vain(path, request, answer, leaderless_until_us);
  answer(carry_out(path, *request));
}

// -- a line ---------------------------------------------------------------------------------------

/// What is sent while it is cut is sent again for a while, and may arrive afterwards.
void EtcdLine::send(std::int64_t cut_until_us, const std::function<void()>& deliver) {
  const auto now_us = stage_.time.now_us();
  if (stage_.chance.permille(cluster_.loses_permille)) return;
  if (now_us < cut_until_us && stage_.chance.percent(70)) return;
  stage_.time.at(std::max(now_us, cut_until_us) + stage_.chance.spread(200, cluster_.max_delay_us),
                 deliver);
}

Expected<json> EtcdLine::call(const std::string& path, const json& request,
                              std::int64_t timeout_ms) {
  const auto answer = std::make_shared<std::optional<Expected<json>>>();
  const auto shared = std::make_shared<const json>(request);
  if (threads == nullptr) {
    cluster_.take(path, shared, [answer](Expected<json> told) { *answer = std::move(told); });
    return **answer;
  }
  if (threads->are_ending()) return make_error(ErrorCode::unavailable, "the process ends");
  const auto arrives = [this, path, shared, answer, alarm = threads->alarm()] {
    cluster_.take(path, shared, [this, answer, alarm](Expected<json> told) {
      send(down_cut_until_us, [answer, alarm, told = std::move(told)] {
        if (!*answer) *answer = told;
        alarm();
      });
    });
  };
  send(up_cut_until_us, arrives);
  if (stage_.chance.permille(cluster_.repeats_permille))
    stage_.time.in(stage_.chance.spread(kMs, 4 * kSecond), arrives);
  threads->wait(timeout_ms * kMs);
  if (*answer) return std::move(**answer);
  return make_error(ErrorCode::unavailable, "no answer within the time");
}

}  // namespace fairwater::cluster_sim
