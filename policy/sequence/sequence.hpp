// Sequence deployment for multi-user clusters (Wang, Hong, Feng): the order in which slots fall to
// members in exact proportion to their weights, counted without writing it out.
//
// Members are ranked by weight, heavier first, then in the order of joining. One period has
// sum(weight) slots. In the maximum-deficit method a slot falls to the largest (r_i - 1) / R_i, the
// last-ranked on a tie, with R_i the weight and r_i what is left of it in this period: slot k
// (1..R_i) of a member has the key (R_i - k) / R_i. The minimum-ratio method is its mirror:
// smallest r_i / R_i, first-ranked on a tie, with r_i what was had. Exact: all comparisons are in
// integers of up to 128 bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline sequence {

class Sequence {
 public:
  /// A key that the caller chooses; unique among the members.
  using Member = std::uint32_t;
  enum class Method : std::uint8_t { max_deficit, min_ratio };

  struct Count {
    Member member;
    std::uint64_t slots;
    friend bool operator==(const Count&, const Count&) = default;
  };
  struct Change {
    std::uint64_t position;
    std::uint64_t cycle;
    std::uint64_t used;
  };

  explicit Sequence(Method method = Method::max_deficit);
  Sequence(const Sequence& other);
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(const Sequence& other);
  Sequence& operator=(Sequence&&) noexcept;
  ~Sequence();

  /// Adds a member of weight 1..10^9 as the last to have joined.
  /// used = floor(position / cycle * weight + 1/2); then cycle += weight, position += used.
  Change join(Member member, Weight weight);
  /// The same, but among equals it ranks by `place`, unlike anybody else's. For all members or
  /// none.
  Change join_at(Member member, Weight weight, std::uint64_t place);
  /// The same `used` is taken away from position, the weight from cycle.
  Change leave(Member member);
  /// Changes one weight in place (rank among equals is kept by order of joining): the position
  /// moves as for leave and join. Cheaper than both.
  Change reweigh(Member member, Weight weight);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool contains(Member member) const;
  [[nodiscard]] Weight weight(Member member) const;
  [[nodiscard]] std::uint64_t position() const;  ///< in [0, cycle), 0 when empty
  [[nodiscard]] std::uint64_t cycle() const;     ///< sum of the weights
  /// Restores a position that was read before; it must be below cycle().
  void set_position(std::uint64_t position);
  /// Members in ranked order.
  [[nodiscard]] std::vector<Member> ranked() const;
  /// True when `a` ranks before `b`. O(1).
  [[nodiscard]] bool ranks_before(Member a, Member b) const;

  /// Deals the next `slots` slots (up to 10^12): how many fall to each member, members without one
  /// left out, in ranked order. Moves the position. Time and memory do not depend on weights or
  /// slots.
  std::vector<Count> advance(std::uint64_t slots);
  /// Takes the last `slots` slots back and says whose they were. Moves the position.
  std::vector<Count> rollback(std::uint64_t slots);
  /// Deals one slot. O(log n) amortised.
  Member next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::inline policy::inline sequence
