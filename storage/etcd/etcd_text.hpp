// Requests to etcd's JSON gateway and its answers, as text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "storage/etcd/etcd_journal.hpp"

namespace fairwater::inline storage::inline etcd::etcd_text {

using nlohmann::json;

[[nodiscard]] json put(const std::string& key, const std::string& value);
[[nodiscard]] json range(const std::string& key);
/// Keys from `from` up to, not including, `to`; `limit` 0: all.
[[nodiscard]] json range(const std::string& from, const std::string& to, std::int64_t limit);
[[nodiscard]] json remove(const std::string& from, const std::string& to);
/// True in etcd when the key has this value; none: when it is not there.
[[nodiscard]] json compare(const std::string& key, const std::optional<std::string>& value);
[[nodiscard]] json transaction(json compares, json success, json failure = json::array());

using KeyValues = std::vector<std::pair<std::string, std::string>>;
struct Answer {
  bool succeeded = false;
  std::int64_t revision = 0;
  std::vector<KeyValues> ranges;  ///< of the ranges asked for, in order
};
/// `unavailable` when it is not what etcd answers to a transaction.
[[nodiscard]] Expected<Answer> read_answer(const json& answer);
/// How much of its store a member uses, by what it says of its state; none: it does not say.
[[nodiscard]] std::optional<std::uint64_t> store_bytes_in(const json& status);

[[nodiscard]] std::string text_of(const JournalHead& head);
[[nodiscard]] std::string text_of(const ReplicaLeader& leader);
[[nodiscard]] std::string text_of(const ReplicaHolds& holds);
[[nodiscard]] std::string text_of(const JournalNeeds& needs);
/// `storage_damaged` for what another program wrote there.
[[nodiscard]] Expected<JournalHead> head_in(const std::string& text);
[[nodiscard]] Expected<ReplicaLeader> leader_in(const std::string& text);
[[nodiscard]] Expected<JournalNeeds> needs_in(const std::string& text);
[[nodiscard]] Expected<ReplicaHolds> holds_in(const std::string& name, const std::string& text);

[[nodiscard]] std::string text_of(const std::vector<std::string>& records);
[[nodiscard]] Expected<std::vector<std::string>> records_in(const std::string& text);
/// The last part of a group's key.
[[nodiscard]] std::string group_name(std::uint64_t first);

}  // namespace fairwater::inline storage::inline etcd::etcd_text
