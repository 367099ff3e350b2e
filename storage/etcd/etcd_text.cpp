#include "storage/etcd/etcd_text.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include "policy/core/check.hpp"

namespace fairwater::inline storage::inline etcd::etcd_text {
namespace {

std::string base64(std::string_view bytes) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // its end of string
  return text;
}

std::optional<std::string> bytes_of(const std::string& base64) {
  std::string bytes(base64.size(), '\0');
  std::size_t length = 0;
  const char* end = nullptr;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), base64.data(),
                        base64.size(), nullptr, &length, &end,
                        sodium_base64_VARIANT_ORIGINAL) != 0 ||
      end != base64.data() + base64.size())
    return std::nullopt;
  bytes.resize(length);
  return bytes;
}

/// etcd writes 64-bit numbers as strings, and leaves out zeros.
std::int64_t number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  return found->is_string() ? std::stoll(found->get<std::string>()) : found->get<std::int64_t>();
}

std::string bytes_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  const auto bytes = bytes_of(found->get<std::string>());
  if (!bytes) throw std::invalid_argument("no base64");
  return *bytes;
}

KeyValues pairs_in(const json& range) {
  KeyValues pairs;
  const auto found = range.find("kvs");
  if (found == range.end()) return pairs;
  for (const auto& pair : *found)
    pairs.emplace_back(bytes_in(pair, "key"), bytes_in(pair, "value"));
  return pairs;
}

caf::error foreign(const std::string& what, const std::string& text) {
  return make_error(ErrorCode::storage_damaged,
                    "etcd holds no " + what + " of Fairwater there: " + text.substr(0, 100));
}

/// What `read` makes of the object in `text`.
template <class Value, class Read>
Expected<Value> read_object(const std::string& what, const std::string& text, Read read) {
  try {
    return read(json::parse(text));
  } catch (const std::exception&) {
    return foreign(what, text);
  }
}

Hash hash_in(const std::string& text) {
  Hash hash{};
  std::size_t length = 0;
  if (sodium_hex2bin(hash.data(), hash.size(), text.data(), text.size(), nullptr, &length,
                     nullptr) != 0 ||
      length != hash.size())
    throw std::invalid_argument("no hash");
  return hash;
}

}  // namespace

json put(const std::string& key, const std::string& value) {
  return {{"request_put", {{"key", base64(key)}, {"value", base64(value)}}}};
}

json range(const std::string& key) { return {{"request_range", {{"key", base64(key)}}}}; }

json range(const std::string& from, const std::string& to, std::int64_t limit) {
  return {{"request_range",
           {{"key", base64(from)}, {"range_end", base64(to)}, {"limit", std::to_string(limit)}}}};
}

json remove(const std::string& from, const std::string& to) {
  return {{"request_delete_range", {{"key", base64(from)}, {"range_end", base64(to)}}}};
}

json compare(const std::string& key, const std::optional<std::string>& value) {
  json result{{"key", base64(key)}, {"result", "EQUAL"}};
  if (value) {
    result["target"] = "VALUE";
    result["value"] = base64(*value);
  } else {
    result["target"] = "VERSION";
    result["version"] = "0";
  }
  return result;
}

json transaction(json compares, json success, json failure) {
  return {{"compare", std::move(compares)},
          {"success", std::move(success)},
          {"failure", std::move(failure)}};
}

Expected<Answer> read_answer(const json& answer) {
  try {
    Answer result;
    result.succeeded = answer.value("succeeded", false);
    result.revision = number_in(answer.at("header"), "revision");
    if (const auto responses = answer.find("responses"); responses != answer.end())
      for (const auto& response : *responses)
        if (const auto range = response.find("response_range"); range != response.end())
          result.ranges.push_back(pairs_in(*range));
    return result;
  } catch (const std::exception& wrong) {
    return make_error(ErrorCode::unavailable,
                      std::string("etcd's answer cannot be read: ") + wrong.what());
  }
}

std::optional<std::uint64_t> store_bytes_in(const json& status) {
  try {
    return number_in(status, "dbSizeInUse");
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string text_of(const JournalHead& head) {
  return json{{"epoch", head.epoch}, {"number", head.number}, {"hash", to_hex(head.hash)}}.dump();
}

std::string text_of(const ReplicaLeader& leader) {
  return json{{"epoch", leader.epoch}, {"name", leader.name}, {"address", leader.address}}.dump();
}

std::string text_of(const ReplicaHolds& holds) {
  json text{{"address", holds.address},
            {"number", holds.number},
            {"version", holds.version},
            {"at", holds.at.microseconds}};
  if (holds.disk_full) text["full"] = true;
  if (holds.format > kFirstFormat) text["format"] = holds.format;
  return text.dump();
}

std::string text_of(const JournalNeeds& needs) {
  return json{{"format", needs.format}, {"version", needs.version}}.dump();
}

Expected<JournalHead> head_in(const std::string& text) {
  return read_object<JournalHead>("newest record", text, [](const json& head) {
    return JournalHead{head.at("epoch"), head.at("number"), hash_in(head.at("hash"))};
  });
}

Expected<ReplicaLeader> leader_in(const std::string& text) {
  return read_object<ReplicaLeader>("leader", text, [](const json& leader) {
    return ReplicaLeader{leader.at("epoch"), leader.at("name"), leader.at("address")};
  });
}

Expected<ReplicaHolds> holds_in(const std::string& name, const std::string& text) {
  return read_object<ReplicaHolds>("replica", text, [&](const json& holds) {
    return ReplicaHolds{name,
                        holds.at("address"),
                        holds.at("number"),
                        holds.at("version"),
                        WallTime{holds.at("at")},
                        holds.value("full", false),
                        holds.value("format", kFirstFormat)};
  });
}

Expected<JournalNeeds> needs_in(const std::string& text) {
  return read_object<JournalNeeds>("format", text, [](const json& needs) {
    return JournalNeeds{needs.at("format"), needs.at("version")};
  });
}

std::string text_of(const std::vector<std::string>& records) {
  std::string text;
  for (const auto& record : records) {
    auto length = static_cast<std::uint32_t>(record.size());
    FAIRWATER_CHECK(length == record.size(), "a record fits a message");
    for (int byte = 0; byte < 4; ++byte, length >>= 8)
      text.push_back(static_cast<char>(length & 0xff));
    text += record;
  }
  return text;
}

Expected<std::vector<std::string>> records_in(const std::string& text) {
  const auto wrong =
      make_error(ErrorCode::storage_damaged, "etcd holds no group of records of Fairwater there");
  std::vector<std::string> records;
  std::string_view rest = text;
  while (rest.size() >= 4) {
    std::size_t length = 0;
    for (int byte = 3; byte >= 0; --byte)
      length = length << 8 | static_cast<unsigned char>(rest[static_cast<std::size_t>(byte)]);
    rest.remove_prefix(4);
    if (length > rest.size()) return wrong;
    records.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (!rest.empty() || records.empty()) return wrong;
  return records;
}

std::string group_name(std::uint64_t first) { return fmt::format("{:016x}", first); }

}  // namespace fairwater::inline storage::inline etcd::etcd_text
