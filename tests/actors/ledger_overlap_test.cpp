// One group is agreed on with other coordinators while the one before is synced: with real threads,
// a disk whose syncs are held back, and a store that is.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "actors/coordinator/ledger.hpp"
#include "tests/storage/memory_disk.hpp"

namespace fairwater {
namespace {

/// Where whoever comes waits while it is closed.
class Gate {
 public:
  void close() { set(false); }
  void open() { set(true); }
  void pass() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
  }
  /// Returns once so many have come, in all.
  void await(int came) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return came_ >= came; });
  }
  [[nodiscard]] int came() {
    const std::lock_guard lock(mutex_);
    return came_;
  }

 private:
  void set(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int came_ = 0;
};

/// Of RocksDB's log alone.
class SlowDisk final : public rocksdb::EnvWrapper {
 public:
  SlowDisk() : EnvWrapper(test::memory_disk()) {}
  Gate syncs;
  std::atomic<bool> fails = false;

  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    const rocksdb::Status made = EnvWrapper::NewWritableFile(name, file, options);
    if (made.ok() && name.ends_with(".log")) *file = std::make_unique<Log>(*this, std::move(*file));
    return made;
  }

 private:
  class Log final : public rocksdb::WritableFileWrapper {
   public:
    Log(SlowDisk& disk, std::unique_ptr<rocksdb::WritableFile> file)
        : WritableFileWrapper(file.get()), disk_(disk), file_(std::move(file)) {}
    rocksdb::Status Sync() override {
      disk_.syncs.pass();
      return disk_.fails ? rocksdb::Status::IOError("the disk is broken") : file_->Sync();
    }

   private:
    SlowDisk& disk_;
    std::unique_ptr<rocksdb::WritableFile> file_;
  };
};

class SlowStore final : public JournalStore {
 public:
  caf::error commit(const RecordGroup& group) override {
    proposed = group.after.number;
    asked.pass();
    return group.after.number > last_taken ? make_error(ErrorCode::not_leader, "another leads")
                                           : caf::error{};
  }
  void note_durable(std::uint64_t number) override { durable = number; }
  Gate asked;
  std::atomic<std::uint64_t> last_taken = ~std::uint64_t{0};
  std::atomic<std::uint64_t> proposed = 0;
  std::atomic<std::uint64_t> durable = 0;
};

struct Overlap {
  Overlap() {
    LedgerOptions options;
    options.directory = "/ledger";
    options.create = true;
    options.env = &disk;
    options.min_free_bytes = 1 << 20;
    options.store = &store;
    auto opened = Ledger::open(options);
    REQUIRE(opened.engaged());
    ledger = std::move(*opened);
    TenantRecord tenant;
    tenant.id = TenantId{1};
    tenant.spec.name = "only";
    tenant.spec.weight = 1;
    REQUIRE(ledger
                ->append({ClusterCreated{"test", ResourceCatalog{}.kinds(), {}, {}},
                          TenantsChanged{{tenant}, 0}})
                .engaged());
    founded = ledger->last_number();
    scanner = spawn_ledger_scanner(system, Threading::own, ledger, std::make_shared<StorageAlarm>(),
                                   ResourceCatalog{}, wall_time_now, {});
    writer = spawn_ledger(system, Threading::own, ledger, scanner, [this](const caf::error& error) {
      {
        const std::lock_guard lock(mutex);
        fatal.push_back(details(error).code);
      }
      failures.pass();
    });
  }
  ~Overlap() {
    disk.syncs.open();
    store.asked.open();
    caf::anon_send_exit(writer, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(scanner, caf::exit_reason::user_shutdown);
    self->await_all_other_actors_done();
  }

  /// Answers come in the order in which they are given.
  void submit() {
    JobSpec spec;
    spec.tenant = "only";
    spec.command = {"true"};
    spec.resources = {{"cpu", 1000}};
    self->send(writer, Commit{{JobSubmitted{{}, TenantId{1}, std::move(spec), {}}}, 0});
  }
  [[nodiscard]] bool is_answered() { return self->has_next_message(); }
  /// The number of the record, 0 when it was refused.
  std::uint64_t answer() {
    std::uint64_t number = 0;
    self->receive([&](const Committed& committed) { number = committed.number; },
                  [&](const caf::error&) { number = 0; });
    return number;
  }

  SlowDisk disk;
  SlowStore store;
  std::mutex mutex;
  std::vector<ErrorCode> fatal;
  Gate failures;
  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  std::shared_ptr<Ledger> ledger;
  std::uint64_t founded = 0;
  LedgerScanner scanner;
  LedgerActor writer;
};

/// Two submissions, the second of which is asked about while the first is synced, which is held
/// back.
struct OneAhead : Overlap {
  /// The store takes nothing beyond so many records.
  explicit OneAhead(std::uint64_t taken = 2) {
    store.last_taken = founded + taken;
    asked_before = store.asked.came();
    store.asked.close();
    submit();
    store.asked.await(asked_before + 1);
    submit();  // waits for the next group
    const int synced_before = disk.syncs.came();
    disk.syncs.close();
    store.asked.open();
    disk.syncs.await(synced_before + 1);
    store.asked.await(asked_before + 2);
  }
  int asked_before = 0;
};

TEST_CASE("the next group is agreed on while one is synced, and neither is acknowledged before",
          "[actor][replica]") {
  OneAhead overlap(3);
  CHECK(overlap.store.proposed == overlap.founded + 2);
  CHECK(overlap.ledger->last_number() == overlap.founded);
  CHECK(overlap.store.durable == overlap.founded);
  CHECK_FALSE(overlap.ledger->record(overlap.founded + 1));
  CHECK_FALSE(overlap.is_answered());
  // No third one meanwhile.
  overlap.submit();
  CHECK(overlap.store.asked.came() == overlap.asked_before + 2);

  overlap.disk.syncs.open();
  for (std::uint64_t number = overlap.founded + 1; number <= overlap.founded + 3; ++number) {
    CHECK(overlap.answer() == number);
    CHECK(overlap.ledger->last_number() >= number);
  }
  CHECK(overlap.store.durable == overlap.founded + 3);
  CHECK(overlap.ledger->verify().ok);
  const std::lock_guard lock(overlap.mutex);
  CHECK(overlap.fatal.empty());
}

TEST_CASE("after a failed sync nothing is acknowledged, though others agreed", "[actor][replica]") {
  OneAhead overlap;
  overlap.disk.fails = true;
  overlap.disk.syncs.open();
  CHECK(overlap.answer() == 0);
  CHECK(overlap.answer() == 0);
  overlap.submit();
  CHECK(overlap.answer() == 0);
  CHECK(overlap.store.asked.came() == overlap.asked_before + 2);
  CHECK(overlap.store.durable == overlap.founded);
  CHECK(overlap.ledger->last_number() == overlap.founded);
  overlap.failures.await(3);  // each comes after its answer
  const std::lock_guard lock(overlap.mutex);
  CHECK(overlap.fatal == std::vector<ErrorCode>(3, ErrorCode::storage_failed));
}

TEST_CASE("what was agreed is acknowledged, also where the next group is another leader's",
          "[actor][replica]") {
  OneAhead overlap(1);
  overlap.disk.syncs.open();
  CHECK(overlap.answer() == overlap.founded + 1);
  CHECK(overlap.answer() == 0);
  CHECK(overlap.ledger->last_number() == overlap.founded + 1);
  CHECK(overlap.ledger->verify().ok);
  overlap.failures.await(1);
  const std::lock_guard lock(overlap.mutex);
  CHECK(overlap.fatal == std::vector<ErrorCode>{ErrorCode::not_leader});
}

}  // namespace
}  // namespace fairwater
