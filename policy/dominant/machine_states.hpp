// The machines of a cluster while it fills: machines of one shape with the same load are one entry.
// Finds the machine that a user's next task goes to, for GDRF and for DRFH's best fit
// (policy/dominant/gdrf.hpp).
//
// Every user has a heap of the entries that have room for its next task, best first. A task moves
// one machine from an entry to another; an entry that comes to be is offered to all users' heaps
// (O(users log entries)), one whose last machine leaves stays in the heaps until it surfaces or the
// heap is half stale. So a task costs O(log entries) when it leads to a load that another machine
// has already, and O(users log entries) otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "policy/dominant/machine_load.hpp"

namespace fairwater::inline policy::inline dominant {

enum class MachinePreference : std::uint8_t {
  largest_f = 0,  ///< GDRF: the user's own type first, then the largest f
  best_fit = 1,   ///< DRFH: the smallest distance between demand and room
};

class MachineStates {
 public:
  MachineStates(MachinePreference preference, std::span<const MachineClass> machines,
                std::span<const PlacedUser> users, const ResourceVector& totals,
                double gdrs_denominator);

  /// Puts one task of `user` where it belongs; false when no machine has room. Room never grows.
  bool place(std::size_t user);

  [[nodiscard]] ResourceVector used() const { return used_; }
  /// Sum over machines of f / k.
  [[nodiscard]] double f_over_k() const;

 private:
  using Machine = std::uint32_t;  ///< by place in the input
  struct Shape {
    ResourceVector capacity;
    Amount capacity_sum = 0;
    std::size_t type = 0;
  };
  struct Range {
    Machine first = 0;
    Machine last = 0;
    bool operator>(const Range& other) const { return first > other.first; }
  };
  struct Entry {
    std::uint32_t shape = 0;
    std::uint32_t generation = 0;  ///< how often this slot was given to another load
    ResourceVector free;
    MachineLoad load;
    std::uint64_t count = 0;
    std::vector<Range> machines;  ///< a heap, lowest first
  };
  struct EntryKey {
    std::uint32_t shape = 0;
    MachineLoad load;
    friend bool operator==(const EntryKey&, const EntryKey&) = default;
  };
  struct EntryHash {
    std::size_t operator()(const EntryKey& key) const;
  };
  using EntryId = std::uint32_t;
  struct Candidate {
    double score = 0;  ///< the larger, the better
    EntryId entry = 0;
    std::uint32_t generation = 0;
    bool operator<(const Candidate& other) const { return score < other.score; }
  };
  struct Choice {
    std::vector<Candidate> heap;
    bool any_type = false;  ///< the user's own type is full
    bool done = false;      ///< every machine is
  };

  [[nodiscard]] std::uint32_t shape_of(const ResourceVector& capacity);
  [[nodiscard]] EntryId entry_with(std::uint32_t shape, const MachineLoad& load);
  void add_machines(EntryId entry, Range range);
  Machine take_first_machine(EntryId entry);
  [[nodiscard]] bool is_stale(const Candidate& candidate) const {
    return entries_[candidate.entry].generation != candidate.generation;
  }
  [[nodiscard]] double score(const PlacedUser& user, const Entry& entry) const;
  void offer(EntryId entry);
  void offer(EntryId entry, std::size_t user);
  [[nodiscard]] std::optional<EntryId> best(std::size_t user);
  [[nodiscard]] EntryId first_of_tied(Choice& choice);
  void drop_stale(Choice& choice);

  MachinePreference preference_;
  std::span<const PlacedUser> users_;
  ResourceVector totals_;
  double gdrs_denominator_;
  std::vector<Shape> shapes_;
  std::vector<Entry> entries_;
  std::vector<EntryId> unused_;  ///< slots of entries without machines
  std::unordered_map<EntryKey, EntryId, EntryHash> entry_by_load_;  ///< looked up, never iterated
  std::vector<Choice> choices_;                                     ///< one per user
  ResourceVector used_;
};

}  // namespace fairwater::inline policy::inline dominant
