// The state that follows from the journal, as the fold sees and changes it: typed tables of changes
// over whatever is stored below them. The database and an empty base (verify) take the same path.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/tenant_nesting.hpp"
#include "policy/ledger/accounts.hpp"
#include "storage/families.hpp"
#include "storage/records.hpp"

namespace fairwater::inline storage {

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
  /// Those whose keys begin so, likewise.
  virtual void scan_prefix(
      Family family, const std::string& prefix,
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
  void scan_prefix(Family, const std::string&,
                   const std::function<void(std::string_view, std::string_view)>&) const override {}
};

/// Decodes a stored record or throws StorageFault naming family and key.
template <class Value>
[[nodiscard]] Value decode_stored(Family family, std::string_view key, std::string_view bytes);

/// Takes a key's new bytes; none: the key goes.
using ChangeSink = std::function<void(Family family, const std::string& key,
                                      const std::optional<std::string>& bytes)>;

/// The changes to one family over a view, and what was read or changed lately: records that change
/// with every commit are read and decoded once. References stay valid until the record is erased,
/// stored() or forget().
template <class Value>
class StateTable {
 public:
  /// Encoded, of what is kept after it was stored; what is held in memory takes a few times that.
  static constexpr std::size_t kMostKeptBytes = std::size_t{4} << 20;

  StateTable(const StateView& view, Family family) : view_(view), family_(family) {}

  /// Null when there is none. O(1), and one read the first time.
  [[nodiscard]] const Value* find(const std::string& key) {
    const Slot& slot = load(key).second;
    return slot.value ? &*slot.value : nullptr;
  }
  /// For changing a record in place; null when there is none.
  [[nodiscard]] Value* edit(const std::string& key) {
    Entry& entry = load(key);
    if (!entry.second.value) return nullptr;
    change(entry);
    return &*entry.second.value;
  }
  Value& put(const std::string& key, Value value) {
    Entry& entry = *slots_.try_emplace(key).first;
    entry.second.value = std::move(value);
    change(entry);
    return *entry.second.value;
  }
  void erase(const std::string& key) {
    Entry& entry = *slots_.try_emplace(key).first;
    entry.second.value.reset();
    change(entry);
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
  void write_changes(const ChangeSink& sink) {
    const auto by_key = [](const Entry* one, const Entry* other) {
      return one->first < other->first;
    };
    std::sort(changed_.begin(), changed_.end(), by_key);
    for (Entry* entry : changed_) {
      std::optional<std::string> bytes;
      if (entry->second.value) bytes = to_bytes(*entry->second.value);
      keep(*entry, bytes ? bytes->size() : 0);
      sink(family_, entry->first, bytes);
    }
  }
  /// What was handed out will be below later, which stored() says, once for each time this was
  /// called; until then it stays here. What changes from now on is handed out by itself.
  void hold() {
    for (Entry* entry : changed_) {
      entry->second.changed = false;
      ++entry->second.held;
    }
    held_.push_back(std::move(changed_));
    changed_.clear();
  }
  /// What was handed out is below now; where something is held, what is held for longest.
  void stored() {
    if (held_.empty()) {
      for (Entry* entry : changed_) entry->second.changed = false;
      let_go(changed_);
      changed_.clear();
    } else {
      for (Entry* entry : held_.front()) --entry->second.held;
      let_go(held_.front());
      held_.pop_front();
    }
    if (kept_bytes_ <= kMostKeptBytes) return;
    std::erase_if(slots_, [&](const Entry& entry) {
      if (is_pinned(entry)) return false;
      kept_bytes_ -= entry.second.bytes;
      return true;
    });
  }

 private:
  struct Slot {
    std::optional<Value> value;
    bool changed = false;
    std::uint8_t held = 0;  ///< how often, and not stored since
    std::size_t bytes = 0;
  };
  using Slots = std::unordered_map<std::string, Slot>;
  using Entry = typename Slots::value_type;  // stays where it is while others come and go

  Entry& load(const std::string& key) {
    const auto found = slots_.find(key);
    if (found != slots_.end()) return *found;
    const std::optional<std::string> bytes = view_.get(family_, key);
    Slot slot;
    if (bytes) slot.value = decode_stored<Value>(family_, key, *bytes);
    Entry& loaded = *slots_.emplace(key, std::move(slot)).first;
    keep(loaded, bytes ? bytes->size() : 0);
    return loaded;
  }
  /// Not as it is below.
  static bool is_pinned(const Entry& entry) {
    return entry.second.changed || entry.second.held > 0;
  }
  /// Nobody has to know of what was erased, once that is so below, too.
  void let_go(const std::vector<Entry*>& stored) {
    for (Entry* entry : stored) {
      if (entry->second.value || is_pinned(*entry)) continue;
      kept_bytes_ -= entry->second.bytes;
      slots_.erase(slots_.find(entry->first));
    }
  }
  void change(Entry& entry) {
    if (!std::exchange(entry.second.changed, true)) changed_.push_back(&entry);
  }
  void keep(Entry& entry, std::size_t value_bytes) {
    const std::size_t bytes = entry.first.size() + value_bytes;
    kept_bytes_ += bytes - std::exchange(entry.second.bytes, bytes);
  }

  const StateView& view_;
  Family family_;
  Slots slots_;
  std::vector<Entry*> changed_;
  std::deque<std::vector<Entry*>> held_;
  std::size_t kept_bytes_ = 0;
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
  void write_changes(const ChangeSink& sink);
  /// The changes will be stored below later; as StateTable::hold().
  void hold();
  /// After the changes were stored below.
  void stored();
  /// Who is within whom now. O(tenants).
  [[nodiscard]] TenantNesting nesting() const;
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
  StateTable<ClassJob> class_jobs;
  StateTable<RequestRecord> requests;
  StateTable<TenantUser> users;
  StateTable<UsageRecord> usage;
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

}  // namespace fairwater::inline storage
