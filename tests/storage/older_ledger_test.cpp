// Ledgers that older versions wrote. tests/storage/ledger_without_reservations is one of the last
// version whose nodes forgot their reservations, and whose debtors the remainders of their
// repayments, when the coordinator ended: 19 deals of its allocator, some by slow payers.
#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

LedgerOptions options_of_copy(const std::string& copy) {
  std::filesystem::copy(FAIRWATER_SOURCE_DIR "/tests/storage/ledger_without_reservations", copy,
                        std::filesystem::copy_options::recursive);
  LedgerOptions options = options_for(copy);
  options.create = false;
  return options;
}

TEST_CASE("a ledger without reservations is opened, and keeps them from then on",
          "[unit][older-ledger]") {
  const TemporaryDirectory directory;
  const LedgerOptions options = options_of_copy(directory.path() + "/ledger");
  CHECK(must(Ledger::verify_directory(options.directory)).differences ==
        std::vector<std::string>{});
  const Reservation kept{TenantId{2}, ResourceVector::filled(700)};
  AccountsSnapshot before;
  {
    auto ledger = must(Ledger::open(options));
    before = ledger->accounts();
    CHECK(before.ious.size() > 1);
    CHECK(before.last_iou_age >= before.ious.size());
    CHECK(before.reservations.empty());
    for (const Account& account : before.tenants) CHECK(account.repay_remainder_millionths == 0);
    Deal deal;
    deal.node = NodeId{3};
    deal.position_before = deal.position_after = before.position;
    deal.reservation = kept;
    TenantLine line;
    line.tenant = before.tenants[0].tenant;
    line.deficit_before = line.deficit_after = before.tenants[0].deficit;
    line.repay_remainder_millionths = 400'000;
    deal.lines = {line};
    must(ledger->append({Cycle{{deal}}}));
  }
  auto ledger = must(Ledger::open(options));
  AccountsSnapshot after = before;
  after.reservations = {{NodeId{3}, kept}};
  after.tenants[0].repay_remainder_millionths = 400'000;
  CHECK(ledger->accounts() == after);
  CHECK(ledger->verify().differences == std::vector<std::string>{});
}

TEST_CASE("an older ledger counts usage from its next coordinator on", "[unit][older-ledger]") {
  const TemporaryDirectory directory;
  const LedgerOptions options = options_of_copy(directory.path() + "/ledger");
  const auto submitted = [](const Ledger& ledger) {
    std::uint64_t jobs = 0;
    ledger.visit_usage({}, [&](const UsageGroup&, const UsageRecord& usage) {
      jobs += usage.submitted;
      return true;
    });
    return jobs;
  };
  {
    auto ledger = must(Ledger::open(options));
    const TenantRecord owner = ledger->tenants().front();
    const JobSubmitted job{{}, owner.id, job_spec(owner.spec.name, 1)};
    must(ledger->append({job}));
    CHECK(submitted(*ledger) == 0);
    CHECK(ledger->verify().differences == std::vector<std::string>{});
    must(ledger->append({CoordinatorStarted{ledger->epoch() + 1, "newer", {}, {}, true}, job}));
    CHECK(submitted(*ledger) == 1);
  }
  auto ledger = must(Ledger::open(options));
  CHECK(submitted(*ledger) == 1);
  CHECK(ledger->verify().differences == std::vector<std::string>{});
}

TEST_CASE("an older ledger begins to count time, and every balance is so many times as large",
          "[unit][older-ledger]") {
  const TemporaryDirectory directory;
  const LedgerOptions options = options_of_copy(directory.path() + "/ledger");
  constexpr Units kTimes = 600'000;
  AccountsSnapshot expected;
  {
    auto ledger = must(Ledger::open(options));
    expected = ledger->accounts();
    CHECK_FALSE(ledger->counts_time_since());
    must(ledger->append({AccountingChanged{kTimes}}));
    for (IouBook::Iou& iou : expected.ious) iou.units *= kTimes;
    CHECK(ledger->accounts() == expected);
  }
  auto ledger = must(Ledger::open(options));
  CHECK(ledger->accounts() == expected);
  CHECK(ledger->cluster().accounting == Accounting::time);
  CHECK(ledger->counts_time_since());
  CHECK(ledger->unit_ms_per_unit() == kTimes);
  CHECK(ledger->verify().differences == std::vector<std::string>{});
}

}  // namespace
}  // namespace fairwater::test
