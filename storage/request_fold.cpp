#include "storage/request_fold.hpp"

#include <string>

#include "state/contradiction.hpp"

namespace fairwater::inline storage {
namespace {

constexpr std::int64_t kRequestsRemembered_us = std::int64_t{7} * 24 * 3600 * 1'000'000;
constexpr int kRequestsForgottenAtOnce = 4;

void forget_old_requests(State& state, WallTime now) {
  LedgerMeta& meta = state.meta;
  for (int i = 0; i < kRequestsForgottenAtOnce && !meta.oldest_request.id.empty(); ++i) {
    const std::string key = request_key(meta.oldest_request.tenant, meta.oldest_request.id);
    const RequestRecord* oldest = state.requests.find(key);
    if (!oldest) refuse("the request id '" + meta.oldest_request.id + "' is not remembered");
    if (now.microseconds - oldest->submitted_at.microseconds < kRequestsRemembered_us) return;
    meta.oldest_request = oldest->next;
    if (meta.oldest_request.id.empty()) meta.newest_request = {};
    state.requests.erase(key);
  }
}

}  // namespace

void remember_request(State& state, const JobSubmitted& body, WallTime now) {
  forget_old_requests(state, now);
  if (body.request.id.empty()) return;
  LedgerMeta& meta = state.meta;
  const RequestKey key{body.tenant, body.request.id};
  const std::string bytes = request_key(key.tenant, key.id);
  if (const RequestRecord* known = state.requests.find(bytes))
    refuse("the request id '" + key.id + "' is that of job " + std::to_string(known->job.value));
  if (meta.newest_request.id.empty())
    meta.oldest_request = key;
  else
    state.requests.edit(request_key(meta.newest_request.tenant, meta.newest_request.id))->next =
        key;
  meta.newest_request = key;
  state.requests.put(bytes, {body.id, body.request.hash, now, {}});
}

}  // namespace fairwater::inline storage
