#include "tests/storage/etcd_model.hpp"

#include <algorithm>
#include <vector>

#include <sodium.h>

namespace fairwater::test {
namespace {

using nlohmann::json;

// Keys and values stay in base64: etcd orders keys by their bytes, so only those are decoded.
std::string decoded(const std::string& base64) {
  std::string bytes(base64.size(), '\0');
  std::size_t length = 0;
  const int wrong =
      sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), base64.data(),
                        base64.size(), nullptr, &length, nullptr, sodium_base64_VARIANT_ORIGINAL);
  if (wrong != 0) throw std::invalid_argument("no base64: " + base64);
  bytes.resize(length);
  return bytes;
}

std::string encoded(const std::string& bytes) {
  std::vector<char> text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL));
  return sodium_bin2base64(text.data(), text.size(),
                           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                           sodium_base64_VARIANT_ORIGINAL);
}

}  // namespace

std::size_t EtcdModel::keys_of(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(values_.begin(), values_.end(),
                    [&](const auto& pair) { return pair.first.starts_with(prefix); }));
}

std::optional<std::string> EtcdModel::value(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(decoded(found->second));
}

std::optional<std::string> EtcdModel::first_key(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  const auto found = values_.lower_bound(prefix);
  if (found == values_.end() || !found->first.starts_with(prefix)) return std::nullopt;
  return found->first;
}

bool EtcdModel::holds(const json& compare) const {
  const auto found = values_.find(decoded(compare.at("key")));
  if (compare.at("target") == "VERSION") return found == values_.end();
  return found != values_.end() && found->second == compare.at("value");
}

json EtcdModel::carry_out(const json& operation) {
  if (const auto put = operation.find("request_put"); put != operation.end()) {
    values_[decoded(put->at("key"))] = put->at("value");
    return {{"response_put", json::object()}};
  }
  const bool reads = operation.contains("request_range");
  const json& range = operation.at(reads ? "request_range" : "request_delete_range");
  const std::string from = decoded(range.at("key"));
  auto first = values_.lower_bound(from);
  auto last = range.contains("range_end") ? values_.lower_bound(decoded(range.at("range_end")))
                                          : values_.upper_bound(from);
  if (!reads) {
    values_.erase(first, last);
    return {{"response_delete_range", json::object()}};
  }
  const std::size_t limit = std::stoul(range.value("limit", "0"));
  json pairs = json::array();
  for (; first != last && (limit == 0 || pairs.size() < limit); ++first)
    pairs.push_back({{"key", encoded(first->first)}, {"value", first->second}});
  json response = json::object();
  if (!pairs.empty()) response["kvs"] = std::move(pairs);
  return {{"response_range", std::move(response)}};
}

json EtcdModel::transact(const json& request) {
  const std::lock_guard lock(mutex_);
  bool succeeded = true;
  for (const auto& compare : request.at("compare")) succeeded = succeeded && holds(compare);
  json responses = json::array();
  for (const auto& operation : request.at(succeeded ? "success" : "failure"))
    responses.push_back(carry_out(operation));
  json answer{{"header", {{"revision", std::to_string(++revision_)}}}};
  if (succeeded) answer["succeeded"] = true;
  if (!responses.empty()) answer["responses"] = std::move(responses);
  return answer;
}

Expected<json> EtcdLine::call(const std::string& path, const json& request,
                              std::int64_t timeout_ms) {
  waits_ms = timeout_ms;
  const auto lost = make_error(ErrorCode::unavailable, "no answer");
  const auto chance = [this] {
    const std::lock_guard lock(mutex_);
    return random_() % 100;
  };
  if (cut || chance() < lost_in_100_) return lost;
  if (request.dump().size() / 4 * 3 > max_request_bytes)  // base64
    return make_error(ErrorCode::invalid_input, "etcd: etcdserver: request is too large");
  if (path == "/v3/maintenance/status")
    return json{{"dbSize", "0"}, {"dbSizeInUse", std::to_string(store_bytes)}};
  if (path == "/v3/kv/compaction") {
    compacted_revision = std::stoll(request.at("revision").get<std::string>());
    return json::object();
  }
  if (full)
    return make_error(ErrorCode::disk_full, "etcd: etcdserver: mvcc: database space exceeded");
  json answer = model_.transact(request);
  if (cut || chance() < lost_in_100_) return lost;
  return answer;
}

}  // namespace fairwater::test
