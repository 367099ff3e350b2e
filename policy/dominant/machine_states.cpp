#include "policy/dominant/machine_states.hpp"

#include <algorithm>
#include <functional>

#include "policy/core/check.hpp"
#include "policy/dominant/machine_fit.hpp"

namespace fairwater::inline policy::inline dominant {
MachineStates::MachineStates(MachinePreference preference, std::span<const MachineClass> machines,
                             std::span<const PlacedUser> users, const ResourceVector& totals,
                             double gdrs_denominator)
    : preference_(preference),
      users_(users),
      totals_(totals),
      gdrs_denominator_(gdrs_denominator),
      choices_(users.size()) {
  for (Choice& choice : choices_) choice.any_type = preference != MachinePreference::largest_f;
  std::uint64_t next = 0;
  for (const MachineClass& machine : machines) {
    if (machine.count == 0) continue;
    const auto first = static_cast<Machine>(next);
    next += machine.count;
    FAIRWATER_CHECK(next <= kMaxMachines, "too many machines");
    add_machines(entry_with(shape_of(machine.capacity), {}),
                 {first, static_cast<Machine>(next - 1)});
  }
}

std::uint32_t MachineStates::shape_of(const ResourceVector& capacity) {
  const auto found = std::find_if(shapes_.begin(), shapes_.end(),
                                  [&](const Shape& shape) { return shape.capacity == capacity; });
  const auto index = static_cast<std::uint32_t>(found - shapes_.begin());
  if (found == shapes_.end())
    shapes_.push_back({capacity, sum_over_resources(capacity), resource_type(capacity, totals_)});
  return index;
}

std::size_t MachineStates::EntryHash::operator()(const EntryKey& key) const {
  std::uint64_t hash = key.shape;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  };
  for (const Amount amount : key.load.used.amount) mix(static_cast<std::uint64_t>(amount));
  mix(static_cast<std::uint64_t>(key.load.gdrs_sum));
  return hash;
}

/// The entry of this load; a new one has no machines yet and is offered to all users.
MachineStates::EntryId MachineStates::entry_with(std::uint32_t shape, const MachineLoad& load) {
  const auto [found, is_new] = entry_by_load_.try_emplace({shape, load});
  if (!is_new) return found->second;
  if (unused_.empty()) {
    unused_.push_back(static_cast<EntryId>(entries_.size()));
    entries_.emplace_back();
  }
  const EntryId id = found->second = unused_.back();
  unused_.pop_back();
  Entry& entry = entries_[id];
  entry.shape = shape;
  entry.load = load;
  entry.free = shapes_[shape].capacity - load.used;
  offer(id);
  return id;
}

void MachineStates::add_machines(EntryId id, Range range) {
  Entry& entry = entries_[id];
  entry.machines.push_back(range);
  std::push_heap(entry.machines.begin(), entry.machines.end(), std::greater<>{});
  entry.count += std::uint64_t{range.last} - range.first + 1;
}

MachineStates::Machine MachineStates::take_first_machine(EntryId id) {
  Entry& entry = entries_[id];
  Range& lowest = entry.machines.front();
  const Machine machine = lowest.first;
  if (lowest.first == lowest.last) {
    std::pop_heap(entry.machines.begin(), entry.machines.end(), std::greater<>{});
    entry.machines.pop_back();
  } else {
    ++lowest.first;  // still the lowest: ranges do not overlap
  }
  if (--entry.count == 0) {
    entry_by_load_.erase({entry.shape, entry.load});
    ++entry.generation;
    unused_.push_back(id);
  }
  return machine;
}

double MachineStates::score(const PlacedUser& user, const Entry& entry) const {
  if (preference_ == MachinePreference::largest_f)
    return log_f(with_task(entry.load, user), shapes_[entry.shape].capacity_sum, gdrs_denominator_);
  return -fit_distance(user, entry.free);
}

void MachineStates::offer(EntryId id) {
  for (std::size_t user = 0; user < users_.size(); ++user) offer(id, user);
}

void MachineStates::offer(EntryId id, std::size_t user) {
  const Entry& entry = entries_[id];
  Choice& choice = choices_[user];
  if (choice.done || (!choice.any_type && shapes_[entry.shape].type != users_[user].type)) return;
  if (!users_[user].demand.fits(entry.free)) return;
  if (choice.heap.size() > 2 * entry_by_load_.size() + 64) drop_stale(choice);
  choice.heap.push_back({score(users_[user], entry), id, entry.generation});
  std::push_heap(choice.heap.begin(), choice.heap.end());
}

void MachineStates::drop_stale(Choice& choice) {
  std::erase_if(choice.heap, [this](const Candidate& c) { return is_stale(c); });
  std::make_heap(choice.heap.begin(), choice.heap.end());
}

std::optional<MachineStates::EntryId> MachineStates::best(std::size_t user) {
  Choice& choice = choices_[user];
  std::vector<Candidate>& heap = choice.heap;
  for (;;) {
    while (!heap.empty() && is_stale(heap.front())) {
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    if (!heap.empty()) return first_of_tied(choice);
    if (choice.any_type) {
      choice.done = true;
      return std::nullopt;
    }
    choice.any_type = true;  // room never grows, so the own type stays full
    for (EntryId id = 0; id < entries_.size(); ++id)
      if (entries_[id].count > 0) offer(id, user);
  }
}

/// Of the entries that tie with the best, the one with the first machine.
MachineStates::EntryId MachineStates::first_of_tied(Choice& choice) {
  std::vector<Candidate>& heap = choice.heap;
  const double least = heap.front().score - kScoreTie * std::abs(heap.front().score);
  const auto ties = [&](std::size_t i) { return i < heap.size() && heap[i].score >= least; };
  EntryId best = heap.front().entry;
  if (!ties(1) && !ties(2)) return best;
  std::vector<Candidate> tied;
  while (ties(0)) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate candidate = heap.back();
    heap.pop_back();
    if (is_stale(candidate)) continue;
    tied.push_back(candidate);
    const auto first = [this](EntryId id) { return entries_[id].machines.front().first; };
    if (first(candidate.entry) < first(best)) best = candidate.entry;
  }
  for (const Candidate& candidate : tied) {
    heap.push_back(candidate);
    std::push_heap(heap.begin(), heap.end());
  }
  return best;
}

bool MachineStates::place(std::size_t user) {
  const std::optional<EntryId> from = best(user);
  if (!from) return false;
  const std::uint32_t shape = entries_[*from].shape;
  const MachineLoad load = with_task(entries_[*from].load, users_[user]);
  const Machine machine = take_first_machine(*from);
  add_machines(entry_with(shape, load), {machine, machine});
  used_ += users_[user].demand;
  return true;
}

double MachineStates::f_over_k() const {
  double sum = 0;
  for (const Entry& entry : entries_)
    if (entry.count > 0 && entry.load.used_sum > 0)
      sum += static_cast<double>(entry.count) *
             std::exp(log_f(entry.load, shapes_[entry.shape].capacity_sum, gdrs_denominator_));
  return sum;
}

}  // namespace fairwater::inline policy::inline dominant
