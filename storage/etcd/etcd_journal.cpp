#include "storage/etcd/etcd_journal.hpp"

#include <algorithm>
#include <utility>

#include "storage/etcd/etcd_text.hpp"

namespace fairwater::inline storage::inline etcd {
namespace {

constexpr const char* kTransaction = "/v3/kv/txn";
constexpr const char* kCompaction = "/v3/kv/compaction";
constexpr const char* kStatus = "/v3/maintenance/status";
constexpr const char* kHead = "/head";
constexpr const char* kLeader = "/leader";
constexpr const char* kBeat = "/beat";
constexpr const char* kLeft = "left";
constexpr const char* kFormat = "/format";
constexpr const char* kReplicas = "/replicas/";
constexpr const char* kReplicasEnd = "/replicas0";  // what follows '/' in the order of bytes
constexpr const char* kGroups = "/j/";
constexpr const char* kGroupsEnd = "/j0";
/// So many groups are read at once: each of at most a few megabytes.
constexpr std::int64_t kGroupsAtOnce = 16;
/// A large group needs longer than a beat, on its way and on the members' disks.
constexpr std::int64_t kBytesPerMs = 4096;
/// As long as etcd may take to choose a leader: a long one would be lost with the leader that is
/// gone.
constexpr int kShortLooks = 6;
constexpr std::int64_t kPauseMs = 20;
constexpr std::uint64_t kBeatsBetweenCleanings = 50;
/// Whoever said that by the dates lives, as far as one knows that has seen no other word of it.
constexpr std::int64_t kFreshWord_us = 10'000'000;
/// Within the time that groups are kept: one a second of ten minutes.
constexpr std::int64_t kNotedCommits = 600;

using etcd_text::json;

std::int64_t ms_of(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// The value under the only key of a range; empty when it is not there.
std::string value_of(const etcd_text::KeyValues& range) {
  return range.empty() ? std::string{} : range.front().second;
}

Expected<std::vector<ReplicaHolds>> replicas_in(const etcd_text::KeyValues& range,
                                                std::size_t prefix_bytes) {
  std::vector<ReplicaHolds> replicas;
  for (const auto& [key, value] : range) {
    auto holds = etcd_text::holds_in(key.substr(prefix_bytes), value);
    if (!holds) return holds.error();
    replicas.push_back(std::move(*holds));
  }
  return replicas;
}

/// The newest record that at least so many replicas have on disk.
std::uint64_t held_by(std::size_t replicas, const std::vector<ReplicaHolds>& holds) {
  std::vector<std::uint64_t> numbers;
  for (const auto& replica : holds) numbers.push_back(replica.number);
  if (numbers.size() < replicas) return 0;
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  return numbers[replicas - 1];
}

}  // namespace

EtcdJournal::EtcdJournal(Etcd& etcd, EtcdJournalOptions options)
    : etcd_(etcd), options_(std::move(options)), answered_at_ms_(ms_of(options_.now())) {}

EtcdJournal::~EtcdJournal() { stop_leading(); }

Expected<json> EtcdJournal::call(const char* path, const json& request, std::int64_t timeout_ms) {
  auto answer = etcd_.call(path, request, timeout_ms);
  store_full_ = !answer && details(answer.error()).code == ErrorCode::disk_full;
  answered_ = answer || (!store_full_ && details(answer.error()).code != ErrorCode::unavailable);
  if (answered_) answered_at_ms_ = ms_of(options_.now());
  // There may be room later, without a change here.
  if (store_full_) return make_error(ErrorCode::unavailable, details(answer.error()).message);
  return answer;
}

caf::error EtcdJournal::admit() const {
  const std::uint64_t bytes = store_bytes_;
  if (bytes <= options_.quota_bytes / 2) return {};
  return make_error(ErrorCode::disk_full,
                    "etcd's store is half full: " + std::to_string(bytes >> 20) + " of " +
                        std::to_string(options_.quota_bytes >> 20) +
                        " MiB are used. Nothing was written. It keeps what most coordinators do "
                        "not hold yet: start those that are away");
}

caf::error EtcdJournal::found(const JournalHead& head) {
  const json request = etcd_text::transaction(
      {etcd_text::compare(key(kHead), std::nullopt)},
      {etcd_text::put(key(kHead), etcd_text::text_of(head))}, {etcd_text::range(key(kHead))});
  const auto answered = call(kTransaction, request, options_.try_ms);
  if (!answered) return answered.error();
  const auto answer = etcd_text::read_answer(*answered);
  if (!answer) return answer.error();
  if (answer->succeeded) return {};
  return make_error(ErrorCode::already_exists,
                    "etcd holds a journal under '" + options_.prefix + "' already");
}

ReplicaHolds EtcdJournal::own() const {
  return {options_.name,         options_.address, on_disk_,       options_.version,
          options_.wall_clock(), disk_full_,       options_.format};
}

Expected<std::optional<WallTime>> EtcdJournal::own_word() {
  const json request =
      etcd_text::transaction(json::array(), {etcd_text::range(key(kReplicas) + options_.name)});
  const auto answered = call(kTransaction, request, options_.try_ms);
  if (!answered) return answered.error();
  const auto answer = etcd_text::read_answer(*answered);
  if (!answer) return answer.error();
  if (answer->ranges.size() != 1 || answer->ranges.front().empty()) return std::nullopt;
  const auto holds = etcd_text::holds_in(options_.name, value_of(answer->ranges.front()));
  if (!holds) return holds.error();
  return holds->at;
}

Expected<JournalView> EtcdJournal::look(std::uint64_t next) {
  on_disk_ = next - 1;
  const json request = etcd_text::transaction(
      json::array(),
      {etcd_text::put(key(kReplicas) + options_.name, etcd_text::text_of(own())),
       etcd_text::range(key(kHead)), etcd_text::range(key(kLeader)), etcd_text::range(key(kBeat)),
       etcd_text::range(key(kReplicas), key(kReplicasEnd), 0),
       etcd_text::range(key(kGroups) + etcd_text::group_name(next), key(kGroupsEnd), kGroupsAtOnce),
       etcd_text::range(key(kFormat))});
  const bool is_long = expects_much_ || looks_in_vain_++ >= kShortLooks;
  const auto answered = call(kTransaction, request, (is_long ? 4 : 1) * options_.try_ms);
  if (!answered) return answered.error();
  const auto answer = etcd_text::read_answer(*answered);
  if (!answer) return answer.error();
  if (answer->ranges.size() != 6)
    return make_error(ErrorCode::unavailable, "etcd answered to something else");
  JournalView view;
  if (const std::string text = value_of(answer->ranges[0]); !text.empty()) {
    const auto head = etcd_text::head_in(text);
    if (!head) return head.error();
    view.head = *head;
  }
  if (const std::string text = value_of(answer->ranges[1]); !text.empty()) {
    const auto leader = etcd_text::leader_in(text);
    if (!leader) return leader.error();
    view.leader = *leader;
  }
  if (const std::string text = value_of(answer->ranges[2]); !text.empty()) {
    view.leader_left = text == kLeft;
    if (!view.leader_left) view.beat = std::strtoull(text.c_str(), nullptr, 10);
  }
  auto replicas = replicas_in(answer->ranges[3], key(kReplicas).size());
  if (!replicas) return replicas.error();
  view.replicas = std::move(*replicas);
  for (const auto& [name, text] : answer->ranges[4]) {
    auto records = etcd_text::records_in(text);
    if (!records) return records.error();
    const std::string number = name.substr(key(kGroups).size());
    view.groups.push_back({std::strtoull(number.c_str(), nullptr, 16), std::move(*records)});
  }
  if (const std::string text = value_of(answer->ranges[5]); !text.empty()) {
    auto needs = etcd_text::needs_in(text);
    if (!needs) return needs.error();
    view.needs = std::move(*needs);
  }
  looks_in_vain_ = 0;
  expects_much_ = view.groups.size() == static_cast<std::size_t>(kGroupsAtOnce);
  note(view.replicas);
  return view;
}

void EtcdJournal::note(std::vector<ReplicaHolds> replicas) {
  const std::lock_guard lock(mutex_);
  for (const ReplicaHolds& holds : replicas) {
    const auto before =
        std::find_if(replicas_.begin(), replicas_.end(),
                     [&](const ReplicaHolds& replica) { return replica.name == holds.name; });
    // Who has just started has seen no word change yet, and goes by the dates.
    const bool is_new =
        before == replicas_.end()
            ? options_.wall_clock().microseconds - holds.at.microseconds < kFreshWord_us
            : before->at != holds.at;
    if (is_new) heard_[holds.name] = options_.now();
  }
  replicas_ = std::move(replicas);
}

bool EtcdJournal::was_heard(const std::string& name, std::int64_t within_ms) const {
  const std::lock_guard lock(mutex_);
  const auto heard = heard_.find(name);
  return heard != heard_.end() &&
         options_.now() - heard->second <= std::chrono::milliseconds(within_ms);
}

std::int64_t EtcdJournal::silent_ms(const ReplicaHolds& holds) const {
  const std::lock_guard lock(mutex_);
  if (const auto heard = heard_.find(holds.name); heard != heard_.end())
    return std::chrono::duration_cast<std::chrono::milliseconds>(options_.now() - heard->second)
        .count();
  return std::max<std::int64_t>(
      0, (options_.wall_clock().microseconds - holds.at.microseconds) / 1000);
}

caf::error EtcdJournal::commit(const RecordGroup& group) {
  const bool takes_over = group.after.epoch != group.before.epoch;
  const std::uint64_t first = group.before.number + 1;
  json puts{etcd_text::put(key(kGroups) + etcd_text::group_name(first),
                           etcd_text::text_of(group.records)),
            etcd_text::put(key(kHead), etcd_text::text_of(group.after))};
  if (takes_over) {
    puts.push_back(etcd_text::put(key(kBeat), "0"));
    puts.push_back(etcd_text::put(
        key(kLeader),
        etcd_text::text_of(ReplicaLeader{group.after.epoch, options_.name, options_.address})));
  }
  const bool tells_format = group.needs.format > (takes_over ? kFirstFormat : told_format_);
  if (tells_format) puts.push_back(etcd_text::put(key(kFormat), etcd_text::text_of(group.needs)));
  const json request =
      etcd_text::transaction({etcd_text::compare(key(kHead), etcd_text::text_of(group.before))},
                             std::move(puts), {etcd_text::range(key(kHead))});
  std::int64_t bytes = 0;
  for (const auto& record : group.records) bytes += static_cast<std::int64_t>(record.size());
  while (!giving_up_) {
    const auto asked_at = options_.now();
    const auto answered = call(kTransaction, request, options_.try_ms + bytes / kBytesPerMs);
    if (!answered && details(answered.error()).code == ErrorCode::invalid_input)
      return make_error(
          ErrorCode::invalid_input,
          "etcd does not take " + std::to_string(bytes) + " bytes of the journal at once (" +
              details(answered.error()).message +
              "): give all its members a larger --max-request-bytes, or ask for less");
    const auto answer = answered ? etcd_text::read_answer(*answered) : answered.error();
    if (!answer) {
      pause(kPauseMs);
      continue;
    }
    const std::string found =
        answer->succeeded || answer->ranges.empty() ? "" : value_of(answer->ranges.front());
    // A head that this one builds on was there.
    if (!answer->succeeded && found.empty())
      return make_error(ErrorCode::storage_behind,
                        "etcd has lost its journal, as where its members' data was lost. Keep this "
                        "coordinator's ledger: stop all coordinators, and found the journal anew "
                        "with the newest one (--found)");
    const auto head =
        answer->succeeded ? Expected<JournalHead>(group.after) : etcd_text::head_in(found);
    if (!head) return head.error();
    if (*head != group.after)
      return make_error(ErrorCode::not_leader,
                        "another coordinator leads since epoch " + std::to_string(head->epoch));
    confirmed(asked_at);
    const std::lock_guard lock(mutex_);
    const std::chrono::milliseconds apart(options_.keep_ms / kNotedCommits);
    if (committed_.empty() || asked_at - committed_.back().first >= apart)
      committed_.emplace_back(asked_at, first);
    if (tells_format) told_format_ = group.needs.format;
    return {};
  }
  return make_error(
      ErrorCode::unavailable,
      "this coordinator stops leading; whether what was asked for was done shows later");
}

void EtcdJournal::confirmed(Clock::time_point asked_at) {
  std::int64_t before = confirmed_at_ms_;
  while (before < ms_of(asked_at) &&
         !confirmed_at_ms_.compare_exchange_weak(before, ms_of(asked_at))) {
  }
}

bool EtcdJournal::is_confirmed(std::int64_t within_ms) const {
  const std::int64_t at = confirmed_at_ms_;
  return at >= 0 && ms_of(options_.now()) - at <= within_ms;
}

std::optional<std::int64_t> EtcdJournal::unanswered_ms() const {
  if (answered_) return std::nullopt;
  return ms_of(options_.now()) - answered_at_ms_;
}

std::vector<ReplicaHolds> EtcdJournal::replicas() const {
  const std::lock_guard lock(mutex_);
  return replicas_;
}

KnownFormat EtcdJournal::known_format() const {
  KnownFormat known{options_.format, options_.name, options_.version};
  const std::lock_guard lock(mutex_);
  for (const ReplicaHolds& replica : replicas_)
    if (replica.format < known.format) known = {replica.format, replica.name, replica.version};
  return known;
}

void EtcdJournal::pause(std::int64_t ms) {
  if (options_.pause) return options_.pause(ms);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return giving_up_.load(); });
}

void EtcdJournal::give_up() {
  {
    const std::lock_guard lock(mutex_);
    giving_up_ = true;
  }
  changed_.notify_all();
}

void EtcdJournal::lead(std::uint64_t epoch, std::function<void()> on_overtaken) {
  stop_leading();
  lead(epoch);
  {
    const std::lock_guard lock(mutex_);
    leading_ = true;
  }
  beating_ = std::jthread([this, on_overtaken = std::move(on_overtaken)] {
    for (;;) {
      if (beat()) return on_overtaken();
      std::unique_lock lock(mutex_);
      // One that was not answered is not waited after: who follows waits to hear it.
      const std::int64_t pause_ms = answered_ ? options_.beat_ms : kPauseMs;
      if (changed_.wait_for(lock, std::chrono::milliseconds(pause_ms), [&] { return !leading_; }))
        return;
    }
  });
}

void EtcdJournal::lead(std::uint64_t epoch) {
  epoch_ = epoch;
  etcd_.prefer_leader(true);
}

void EtcdJournal::stop_leading() {
  {
    const std::lock_guard lock(mutex_);
    leading_ = false;
  }
  changed_.notify_all();
  if (beating_.joinable()) beating_.join();
  store_bytes_ = 0;
  etcd_.prefer_leader(false);
}

void EtcdJournal::leave() {
  const std::string leader =
      etcd_text::text_of(ReplicaLeader{epoch_, options_.name, options_.address});
  (void)call(kTransaction,
             etcd_text::transaction({etcd_text::compare(key(kLeader), leader)},
                                    {etcd_text::put(key(kBeat), kLeft)}),
             options_.try_ms);
}

bool EtcdJournal::beat() {
  const auto overtaken = is_overtaken();
  if (!overtaken) return false;  // the next beat is not to wait for deletions
  if (*overtaken) return true;
  if (beats_ % kBeatsBetweenCleanings == 0) {
    const std::size_t majority = options_.replicas / 2 + 1;
    const std::int64_t newest =
        forget_old_groups(held_by(majority, replicas())).value_or(revision_);
    // What was compacted before by another leader is refused, and need not be compacted again.
    (void)call(kCompaction, json{{"revision", std::to_string(newest)}}, 4 * options_.try_ms);
    measure_store();
  }
  return false;
}

std::optional<bool> EtcdJournal::is_overtaken() {
  const auto asked_at = options_.now();
  const std::string leader =
      etcd_text::text_of(ReplicaLeader{epoch_, options_.name, options_.address});
  const json request = etcd_text::transaction(
      {etcd_text::compare(key(kLeader), leader)},
      {etcd_text::put(key(kBeat), std::to_string(++beats_)),
       etcd_text::put(key(kReplicas) + options_.name, etcd_text::text_of(own())),
       etcd_text::range(key(kReplicas), key(kReplicasEnd), 0)});
  const auto answered = call(kTransaction, request, options_.try_ms);
  if (!answered) return std::nullopt;
  const auto answer = etcd_text::read_answer(*answered);
  if (!answer) return std::nullopt;
  if (!answer->succeeded) return true;
  confirmed(asked_at);
  revision_ = answer->revision;
  if (answer->ranges.size() != 1) return false;
  auto replicas = replicas_in(answer->ranges.front(), key(kReplicas).size());
  if (!replicas) return false;
  note(std::move(*replicas));
  return false;
}

std::optional<std::int64_t> EtcdJournal::forget_old_groups(std::uint64_t held_by_majority) {
  std::uint64_t keep_from = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto oldest = options_.now() - std::chrono::milliseconds(options_.keep_ms);
    // Else a busy cluster's newest minutes alone would fill the half at which it has to stop.
    const bool is_tight = store_bytes_ > options_.quota_bytes / 4;
    const auto may_begin = [&](const auto& group) {
      return (is_tight || group.first < oldest) && group.second <= held_by_majority + 1;
    };
    while (committed_.size() > 1 && may_begin(committed_[1])) committed_.pop_front();
    if (!committed_.empty() && may_begin(committed_.front())) keep_from = committed_.front().second;
  }
  if (keep_from == 0) return std::nullopt;
  const json request = etcd_text::transaction(
      json::array(),
      {etcd_text::remove(key(kGroups), key(kGroups) + etcd_text::group_name(keep_from))});
  const auto answered = call(kTransaction, request, 4 * options_.try_ms);
  if (!answered) return std::nullopt;
  const auto answer = etcd_text::read_answer(*answered);
  if (!answer) return std::nullopt;
  return answer->revision;
}

void EtcdJournal::measure_store() {
  const auto status = call(kStatus, json::object(), options_.try_ms);
  if (!status) return;
  if (const auto bytes = etcd_text::store_bytes_in(*status)) store_bytes_ = *bytes;
}

}  // namespace fairwater::inline storage::inline etcd
