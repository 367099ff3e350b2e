// The state that follows from the journal, as the fold sees and changes it: typed tables of changes
// over whatever is stored below them. The database and an empty base (verify) take the same path.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "policy/ledger/accounts.hpp"
#include "storage/families.hpp"
#include "storage/records.hpp"

namespace fairwater {

/// What is stored cannot be read. The ledger's functions that return Expected turn it into an
/// error; those that do not let it pass, and the process ends loudly.
class StorageFault : public std::runtime_error {
 public:
  StorageFault(ErrorCode code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Stored records by family and key. Throws StorageFault when they cannot be read.
class StateView {
 public:
  virtual ~StateView() = default;
  [[nodiscard]] virtual std::optional<std::string> get(Family family,
                                                       const std::string& key) const = 0;
  /// Every record of a family in the order of keys.
  virtual void scan(
      Family family,
      const std::function<void(std::string_view key, std::string_view value)>& visit) const = 0;
};

/// Holds nothing: a rebuild from the journal begins here.
class EmptyView final : public StateView {
 public:
  [[nodiscard]] std::optional<std::string> get(Family, const std::string&) const override {
    return std::nullopt;
  }
  void scan(Family, const std::function<void(std::string_view, std::string_view)>&) const override {
  }
};

/// Decodes a stored record or throws StorageFault naming family and key.
template <class Value>
[[nodiscard]] Value decode_stored(Family family, std::string_view key, std::string_view bytes);

/// Takes a key's new bytes; none: the key goes.
using ChangeSink = std::function<void(Family family, const std::string& key,
                                      const std::optional<std::string>& bytes)>;

/// The changes to one family over a view. Reads are kept, so that a record changed many times
/// within a batch is decoded and encoded once. References stay valid until the record is erased or
/// flush().
template <class Value>
class StateTable {
 public:
  StateTable(const StateView& view, Family family) : view_(view), family_(family) {}

  /// Null when there is none. O(log records touched), and one read the first time.
  [[nodiscard]] const Value* find(const std::string& key) {
    Slot& slot = load(key);
    return slot.value ? &*slot.value : nullptr;
  }
  /// For changing a record in place; null when there is none.
  [[nodiscard]] Value* edit(const std::string& key) {
    Slot& slot = load(key);
    if (!slot.value) return nullptr;
    slot.changed = true;
    return &*slot.value;
  }
  Value& put(const std::string& key, Value value) {
    Slot& slot = slots_[key];
    slot.value = std::move(value);
    slot.changed = true;
    return *slot.value;
  }
  void erase(const std::string& key) {
    Slot& slot = slots_[key];
    slot.value.reset();
    slot.changed = true;
  }
  /// Every record with the changes so far, by key. O(family).
  [[nodiscard]] std::map<std::string, Value> all() const {
    std::map<std::string, Value> records;
    view_.scan(family_, [&](std::string_view key, std::string_view bytes) {
      if (slots_.find(std::string(key)) == slots_.end())
        records.emplace(key, decode_stored<Value>(family_, key, bytes));
    });
    for (const auto& [key, slot] : slots_)
      if (slot.value) records.emplace(key, *slot.value);
    return records;
  }
  /// Hands every change to `sink`, by key.
  void write_changes(const ChangeSink& sink) const {
    for (const auto& [key, slot] : slots_)
      if (slot.changed)
        sink(family_, key, slot.value ? std::optional(to_bytes(*slot.value)) : std::nullopt);
  }
  /// Forgets changes and reads: what is below has them now.
  void forget() { slots_.clear(); }

 private:
  struct Slot {
    std::optional<Value> value;
    bool changed = false;
  };
  Slot& load(const std::string& key) {
    const auto [it, is_new] = slots_.try_emplace(key);
    if (is_new)
      if (const std::optional<std::string> bytes = view_.get(family_, key))
        it->second.value = decode_stored<Value>(family_, key, *bytes);
    return it->second;
  }

  const StateView& view_;
  Family family_;
  std::map<std::string, Slot> slots_;
};

/// What is stored of the accounts. Throws StorageFault when it cannot be, for instance when
/// deficits do not sum to zero.
[[nodiscard]] AccountsSnapshot read_accounts(const StateView& view);

/// All of it. `accounts` mirrors what other families hold of them (the position in meta, balances,
/// reservations, a tenant's deficit and remainder in its record) and is kept whole in memory.
struct State {
  /// Loads meta and the accounts from `view`, which must outlive the state.
  explicit State(const StateView& view);

  /// Every changed record of every family but the journal; meta always.
  void write_changes(const ChangeSink& sink) const;
  /// After the changes were stored below.
  void forget();
  /// Writes what events changed in the accounts to the records that hold it.
  void store_accounts();

  LedgerMeta meta;
  Accounts accounts;
  StateTable<IouRecord> balances;
  StateTable<TenantRecord> tenants;
  StateTable<NodeRecord> nodes;
  StateTable<JobRecord> jobs;
  StateTable<TaskRecord> tasks;
  StateTable<LiveJob> live;
  StateTable<TokenGrant> tokens;
  StateTable<ClassHistory> classes;
  StateTable<TenantJob> tenant_jobs;
  StateTable<Reservation> reservations;
};

/// Printable form of a key for messages: its bytes in hexadecimal.
[[nodiscard]] std::string printable_key(std::string_view key);

template <class Value>
Value decode_stored(Family family, std::string_view key, std::string_view bytes) {
  Expected<Value> value = from_bytes<Value>(bytes);
  if (!value)
    throw StorageFault(ErrorCode::storage_damaged,
                       "the record " + printable_key(key) + " of family " + name_of(family) +
                           " cannot be read (" + details(value.error()).message + ")");
  return std::move(*value);
}

}  // namespace fairwater
