#include "actors/coordinator/ledger_trust.hpp"

#include <algorithm>
#include <utility>

namespace fairwater::inline actors::inline coordinator {
namespace {

/// What the lost life may have written after the newest record that a node tells of: an agent hears
/// of the newest with every heartbeat and keeps it once a second, and a ledger commits less than
/// 50,000 records in two seconds (30,200/s measured from 32 writers).
constexpr std::uint64_t kUnheardRecords = 100'000;
/// A job takes a record, so no life that was lost had more jobs than this: a day at 11,000 a
/// second. Bounds what a node that tells of an absurd record can do to the ids.
constexpr std::uint64_t kMaxSkippedJobs = 1'000'000'000;
/// A ledger takes fewer jobs than this in a second: three times the records that were measured.
constexpr std::uint64_t kMostJobsPerSecond = 100'000;
/// More than are made between two backups. Few, because the user ids of tenants are a range.
constexpr std::uint32_t kSkippedTenants = 1'000;
constexpr std::uint32_t kSkippedNodes = 10'000;
/// A coordinator takes longer to open a ledger and be killed than a tenth of a second.
constexpr std::uint64_t kMostStartsPerSecond = 10;
/// For clocks that are a little off.
constexpr std::uint64_t kUnseenStarts = 1'000;

std::string cycle_text(const LedgerMark& mark) {
  return "cycle " + std::to_string(mark.number) +
         (mark.incarnation == 0 ? "" : " of incarnation " + std::to_string(mark.incarnation));
}

}  // namespace

std::optional<std::string> contradiction(const ClusterMemory& memory, const LedgerEnd& ledger,
                                         const std::optional<Hash>& own) {
  const LedgerMark& seen = memory.seen;
  const LedgerMark& end = ledger.mark;
  const bool gone = seen.incarnation < end.incarnation && seen.number <= ledger.given_up;
  if (gone) return std::nullopt;
  if (seen.incarnation != end.incarnation || seen.number > end.number)
    return "has seen " + cycle_text(seen) + ", this ledger ends at " + cycle_text(end);
  if (seen.hash && own && *seen.hash != *own)
    return "has seen another " + cycle_text(seen) + " than this ledger has: another history";
  if (memory.epoch > ledger.epoch)
    return "has seen a coordinator of epoch " + std::to_string(memory.epoch) +
           ", this one is of epoch " + std::to_string(ledger.epoch);
  return std::nullopt;
}

LedgerTrust::LedgerTrust(std::set<NodeId> known, bool copied)
    : copied_(copied), confirmed_(false), awaited_(std::move(known)) {
  consider();
}

/// Once confirmed, only a doubt can stop it.
void LedgerTrust::consider() {
  confirmed_ = confirmed_ || (copied_ ? awaited_.empty() : agreed_ >= awaited_.size());
}

void LedgerTrust::leases_over() {
  leases_over_ = true;
  cleaning_up_ = cleaning_up_ && !unclean_.empty();
}

void LedgerTrust::clean_up(NodeId node, bool runs_lost_life) {
  if (runs_lost_life)
    unclean_.insert(node);
  else
    unclean_.erase(node);
  if (leases_over_) leases_over();
}

void LedgerTrust::agree(NodeId node) {
  doubts_.erase(node);
  if (awaited_.erase(node) > 0) ++agreed_;
  consider();
}

void LedgerTrust::doubt(NodeId node, Doubt doubt) {
  const auto known = doubts_.find(node);
  if (known != doubts_.end()) doubt.since = known->second.since;
  doubts_[node] = std::move(doubt);
}

void LedgerTrust::lose(NodeId node) {
  if (!copied_) awaited_.erase(node);
  consider();
}

void LedgerTrust::remove(NodeId node) {
  doubts_.erase(node);
  awaited_.erase(node);
  clean_up(node, false);
  consider();
}

void LedgerTrust::vouch() {
  doubts_.clear();
  awaited_.clear();
  confirmed_ = true;
  cleaning_up_ = !leases_over_;
}

std::string LedgerTrust::why_not() const {
  if (holds()) return "";
  constexpr const char* kLook = "; see fairwater ledger doubts";
  if (!doubts_.empty())
    return std::to_string(doubts_.size()) +
           " node(s) have seen more than this ledger holds: it is older than what was "
           "acknowledged, bring the newer one back" +
           kLook;
  if (confirmed_)
    return "the ledger was taken back, and what nodes may still run of the life that was lost ends "
           "with its leases";
  const std::string waiting = std::to_string(awaited_.size()) + " known node(s) have not said yet";
  if (copied_)
    return "the ledger's directory was copied or restored, and " + waiting +
           " that nothing is missing" + kLook;
  return "the coordinator has just started, and " + waiting + " that its ledger is the newest" +
         kLook;
}

LedgerTrusted LedgerTrust::vouching(const LedgerMark& end, std::string reason) const {
  LedgerTrusted record;
  record.incarnation = end.incarnation;
  record.given_up = end.number;
  for (const auto& [node, doubt] : doubts_) {
    record.incarnation = std::max(record.incarnation, doubt.seen.incarnation);
    record.given_up = std::max(record.given_up, doubt.seen.number);
  }
  ++record.incarnation;
  // The largest number stays above every other, also with the margin.
  record.given_up += std::min(kUnheardRecords, ~std::uint64_t{0} - record.given_up);
  record.skipped_jobs = std::min(record.given_up - end.number, kMaxSkippedJobs);
  record.skipped_tenants = kSkippedTenants;
  record.skipped_nodes = kSkippedNodes;
  record.reason = std::move(reason);
  return record;
}

LedgerTrusted restoring(const LedgerMark& end, WallTime recorded, WallTime now,
                        std::string reason) {
  constexpr std::int64_t kSecond_us = 1'000'000;
  // Of a clock that goes wrong nothing follows.
  const bool is_known = recorded && now >= recorded;
  const auto seconds = static_cast<std::uint64_t>(
      is_known ? (now.microseconds - recorded.microseconds) / kSecond_us : 0);
  LedgerTrusted record;
  // Two ledgers that are restored from one backup, one after the other, are not taken for each
  // other: the later one counts more.
  record.incarnation =
      end.incarnation + 1 +
      static_cast<std::uint32_t>(std::min<std::uint64_t>(seconds, kMaxIncarnationsAhead / 2));
  record.given_up = ~std::uint64_t{0};
  record.skipped_jobs =
      is_known ? (seconds + 1) * kMostJobsPerSecond + kUnheardRecords : kMaxSkippedJobs;
  // An order of the lost life that comes late is older than those of this one.
  record.skipped_epochs = kUnseenStarts + seconds * kMostStartsPerSecond;
  record.skipped_tenants = kSkippedTenants;
  record.skipped_nodes = kSkippedNodes;
  record.reason = std::move(reason);
  return record;
}

}  // namespace fairwater::inline actors::inline coordinator
