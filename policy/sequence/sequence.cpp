#include "policy/sequence/sequence.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "policy/core/check.hpp"
#include "policy/sequence/prefix.hpp"
#include "policy/sequence/tournament.hpp"

namespace fairwater::inline policy::inline sequence {

using sequence_detail::ClassProgress;
using sequence_detail::SlotTimes;
using sequence_detail::Tournament;
using sequence_detail::WeightClass;

namespace {

constexpr Weight kMaxWeight = 1'000'000'000;

/// floor(position / cycle * weight + 1/2), 0 for an empty cycle
std::uint64_t used_slots(std::uint64_t position, std::uint64_t cycle, std::uint64_t weight) {
  if (cycle == 0) return 0;
  using UnsignedWide = unsigned __int128;
  const UnsignedWide twice = UnsignedWide{2} * position * weight + cycle;
  return static_cast<std::uint64_t>(twice / (UnsignedWide{2} * cycle));
}

}  // namespace

// What is derived from the members (`classes_`, `standing_`, `upcoming_`) is made when first needed
// and thrown away by join, leave and reweigh, which move everybody's slots.
class Sequence::Impl {
 public:
  explicit Impl(Method method) : method_(method) {}

  Change join(Member member, Weight weight, std::uint64_t joined) {
    FAIRWATER_CHECK(weight >= 1 && weight <= kMaxWeight, "a weight is 1 to 10^9");
    const bool is_new = terms_.emplace(member, Terms{weight, joined}).second;
    FAIRWATER_CHECK(is_new, "a member joins once");
    added_.push_back({weight, joined, member});
    const std::uint64_t used = used_slots(position_, cycle_, static_cast<std::uint64_t>(weight));
    cycle_ += static_cast<std::uint64_t>(weight);
    position_ += used;
    forget_derived();
    return {position_, cycle_, used};
  }

  Change join_last(Member member, Weight weight) { return join(member, weight, ++last_joined_); }

  Change leave(Member member) {
    const Terms terms = terms_of(member);
    const auto weight = static_cast<std::uint64_t>(terms.weight);
    removed_.push_back({terms.weight, terms.joined, member});
    terms_.erase(member);
    const std::uint64_t used = used_slots(position_, cycle_, weight);
    cycle_ -= weight;
    // Rounding can leave the position at the very end of what remains, which is its start.
    position_ = cycle_ == 0 ? 0 : (position_ - used) % cycle_;
    forget_derived();
    return {position_, cycle_, used};
  }

  Change reweigh(Member member, Weight weight) {
    const std::uint64_t joined = terms_of(member).joined;
    leave(member);
    return join(member, weight, joined);
  }

  [[nodiscard]] std::size_t size() const { return terms_.size(); }
  [[nodiscard]] bool contains(Member member) const { return terms_.count(member) != 0; }
  [[nodiscard]] Weight weight(Member member) const { return terms_of(member).weight; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t cycle() const { return cycle_; }

  void set_position(std::uint64_t position) {
    FAIRWATER_CHECK(position < cycle_ || position == 0, "a position is below the cycle");
    move_to(position);
  }

  [[nodiscard]] std::vector<Member> ranked() {
    arrange_classes();
    return members_;
  }

  [[nodiscard]] bool ranks_before(Member a, Member b) const {
    const Terms& x = terms_of(a);
    const Terms& y = terms_of(b);
    return x.weight != y.weight ? x.weight > y.weight : x.joined < y.joined;
  }

  std::vector<Count> advance(std::uint64_t slots) {
    if (slots == 0) return {};
    FAIRWATER_CHECK(cycle_ > 0, "slots need a member to fall to");
    if (is_small(slots)) return advance_one_by_one(slots);
    const std::vector<ClassProgress> from = standing();
    const std::uint64_t rounds = slots / cycle_ + (position_ + slots % cycle_ >= cycle_ ? 1 : 0);
    move_to((position_ + slots % cycle_) % cycle_);
    return difference(from, standing(), rounds);
  }

  std::vector<Count> rollback(std::uint64_t slots) {
    if (slots == 0) return {};
    FAIRWATER_CHECK(cycle_ > 0, "slots need a member to be taken from");
    if (upcoming_valid_ && slots <= recent_.size()) return rollback_one_by_one(slots);
    const std::vector<ClassProgress> to = standing();
    const std::uint64_t rest = slots % cycle_;
    const std::uint64_t rounds = slots / cycle_ + (rest > position_ ? 1 : 0);
    move_to((position_ + cycle_ - rest) % cycle_);
    return difference(standing(), to, rounds);
  }

  Member next() {
    FAIRWATER_CHECK(cycle_ > 0, "a slot needs a member to fall to");
    if (!upcoming_valid_) arrange_upcoming();
    return members_[deal_one()];
  }

 private:
  struct Terms {
    Weight weight;
    std::uint64_t joined;  ///< order of joining
  };
  struct Ranked {
    Weight weight;
    std::uint64_t joined;
    Member member;
    friend bool operator<(const Ranked& a, const Ranked& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.joined < b.joined;
    }
  };

  /// How many of the last slots dealt one by one can be taken back one by one.
  static constexpr std::size_t kRecent = 4096;
  /// Arranging `upcoming_` costs about as much as counting this many windows.
  static constexpr std::uint32_t kWindowsToArrange = 8;

  [[nodiscard]] const Terms& terms_of(Member member) const {
    const auto found = terms_.find(member);
    FAIRWATER_CHECK(found != terms_.end(), "the member has joined");
    return found->second;
  }

  void forget_derived() {
    classes_.clear();
    first_.clear();
    members_.clear();
    standing_valid_ = upcoming_valid_ = false;
    small_windows_ = 0;
  }

  void move_to(std::uint64_t position) {
    if (position == position_) return;
    position_ = position;
    standing_valid_ = upcoming_valid_ = false;
  }

  /// Brings `ranked_` up to date and derives the classes from it. O(members + changes * log
  /// changes).
  void arrange_classes() {
    if (!classes_.empty()) return;
    std::sort(added_.begin(), added_.end());
    std::sort(removed_.begin(), removed_.end());
    std::vector<Ranked> with_added;
    with_added.reserve(ranked_.size() + added_.size());
    std::merge(ranked_.begin(), ranked_.end(), added_.begin(), added_.end(),
               std::back_inserter(with_added));
    ranked_.clear();
    std::set_difference(with_added.begin(), with_added.end(), removed_.begin(), removed_.end(),
                        std::back_inserter(ranked_));
    added_.clear();
    removed_.clear();
    for (const Ranked& ranked : ranked_) {
      const auto weight = static_cast<std::uint32_t>(ranked.weight);
      if (classes_.empty() || classes_.back().weight != weight) {
        classes_.push_back({weight, 0});
        first_.push_back(members_.size());
      }
      ++classes_.back().members;
      members_.push_back(ranked.member);
    }
  }

  /// The progress of every class at `position_`. The minimum-ratio order is the maximum-deficit
  /// order backwards, so its first P slots are what the last P of the other leave.
  const std::vector<ClassProgress>& standing() {
    if (standing_valid_) return standing_;
    arrange_classes();
    if (method_ == Method::max_deficit) {
      standing_ = sequence_detail::count_prefix(classes_, cycle_, position_);
    } else {
      standing_ = sequence_detail::count_prefix(classes_, cycle_, cycle_ - position_);
      for (std::size_t i = 0; i < classes_.size(); ++i) {
        ClassProgress& p = standing_[i];
        p = p.extra == 0
                ? ClassProgress{classes_[i].weight - p.count, 0}
                : ClassProgress{classes_[i].weight - p.count - 1, classes_[i].members - p.extra};
      }
    }
    standing_valid_ = true;
    return standing_;
  }

  /// Index within class `index` of the member that its next slot falls to.
  [[nodiscard]] std::uint32_t place_of_next(std::uint32_t index) const {
    const std::uint32_t extra = standing_[index].extra;
    return method_ == Method::max_deficit ? classes_[index].members - 1 - extra : extra;
  }

  /// True when the member at `at` within a class has had one slot more than `progress.count`.
  [[nodiscard]] bool has_extra(const ClassProgress& progress, std::uint32_t at,
                               std::uint32_t members) const {
    return method_ == Method::max_deficit ? at >= members - progress.extra : at < progress.extra;
  }

  [[nodiscard]] std::vector<Count> difference(const std::vector<ClassProgress>& from,
                                              const std::vector<ClassProgress>& to,
                                              std::uint64_t rounds) const {
    std::vector<Count> counts(members_.size());
    std::size_t written = 0;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const WeightClass& c = classes_[i];
      const std::uint64_t each = rounds * c.weight + to[i].count - from[i].count;
      if (each == 0 && to[i].extra == from[i].extra) continue;
      for (std::uint32_t at = 0; at < c.members; ++at) {
        const std::uint64_t slots =
            each + has_extra(to[i], at, c.members) - has_extra(from[i], at, c.members);
        counts[written] = {members_[first_[i] + at], slots};
        written += slots > 0 ? 1 : 0;
      }
    }
    counts.resize(written);
    return counts;
  }

  // A key is the time of a class's next slot, then its place among equals.
  [[nodiscard]] Tournament::Key upcoming_key(std::uint32_t index) const {
    const std::uint32_t tie = method_ == Method::max_deficit ? ~index : index;
    return (Tournament::Key{times_[index].virtual_time()} << 32) | tie;
  }

  [[nodiscard]] std::uint32_t class_of(Tournament::Key key) const {
    const auto tie = static_cast<std::uint32_t>(key);
    return method_ == Method::max_deficit ? ~tie : tie;
  }

  /// Deals the next slot; returns the rank of its member. Requires `upcoming_`.
  std::size_t deal_one() {
    const std::uint32_t index = class_of(upcoming_.smallest());
    ClassProgress& p = standing_[index];
    const std::size_t rank = first_[index] + place_of_next(index);
    if (++p.extra == classes_[index].members) {
      p.extra = 0;
      ++p.count;
      times_[index].next();
      upcoming_.set(index, upcoming_key(index));
    }
    if (recent_.size() == kRecent) recent_.erase(recent_.begin(), recent_.begin() + kRecent / 2);
    recent_.push_back(index);
    if (++position_ == cycle_) move_to(0);
    return rank;
  }

  /// Takes the last of `recent_` back; returns the rank of its member.
  std::size_t take_back_one() {
    const std::uint32_t index = recent_.back();
    recent_.pop_back();
    ClassProgress& p = standing_[index];
    if (p.extra == 0) {
      p.extra = classes_[index].members;
      --p.count;
      times_[index].previous();
      upcoming_.set(index, upcoming_key(index));
    }
    --p.extra;
    --position_;
    return first_[index] + place_of_next(index);
  }

  /// True when dealing one by one is cheaper than counting, now or if this goes on.
  bool is_small(std::uint64_t slots) {
    arrange_classes();
    if (slots > classes_.size() / 8 || slots > kRecent / 2) return false;
    return upcoming_valid_ || ++small_windows_ > kWindowsToArrange;
  }

  std::vector<Count> advance_one_by_one(std::uint64_t slots) {
    std::vector<std::size_t> ranks(slots);
    for (std::size_t& rank : ranks) {
      if (!upcoming_valid_) arrange_upcoming();
      rank = deal_one();
    }
    return tally(ranks);
  }

  std::vector<Count> rollback_one_by_one(std::uint64_t slots) {
    std::vector<std::size_t> ranks(slots);
    for (std::size_t& rank : ranks) rank = take_back_one();
    return tally(ranks);
  }

  [[nodiscard]] std::vector<Count> tally(std::vector<std::size_t>& ranks) const {
    std::sort(ranks.begin(), ranks.end());
    std::vector<Count> counts;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i == 0 || ranks[i] != ranks[i - 1]) counts.push_back({members_[ranks[i]], 0});
      ++counts.back().slots;
    }
    return counts;
  }

  void arrange_upcoming() {
    (void)standing();
    // Slot k falls at k / R in the maximum-deficit method and at (k - 1) / R in its mirror.
    const std::uint64_t ahead = method_ == Method::max_deficit ? 1 : 0;
    times_.clear();
    std::vector<Tournament::Key> keys(classes_.size());
    for (std::uint32_t i = 0; i < keys.size(); ++i) {
      times_.emplace_back(standing_[i].count + ahead, classes_[i].weight);
      keys[i] = upcoming_key(i);
    }
    upcoming_.assign(keys);
    upcoming_valid_ = true;
    recent_.clear();
  }

  Method method_;
  std::uint64_t position_ = 0;
  std::uint64_t cycle_ = 0;
  std::uint64_t last_joined_ = 0;
  std::unordered_map<Member, Terms> terms_;
  std::vector<Ranked> ranked_;  ///< in order, but for the changes since it was arranged:
  std::vector<Ranked> added_;
  std::vector<Ranked> removed_;

  std::vector<WeightClass> classes_;     ///< in ranked order; empty: to be made
  std::vector<Member> members_;          ///< in ranked order
  std::vector<std::size_t> first_;       ///< per class, where its members begin
  std::vector<ClassProgress> standing_;  ///< per class, at `position_`
  bool standing_valid_ = false;
  std::vector<SlotTimes> times_;  ///< per class, of its next slot
  Tournament upcoming_;           ///< which of them comes first
  bool upcoming_valid_ = false;
  std::vector<std::uint32_t> recent_;  ///< classes of the last slots that were dealt one by one
  std::uint32_t small_windows_ = 0;    ///< counted for want of `upcoming_`
};

Sequence::Sequence(Method method) : impl_(std::make_unique<Impl>(method)) {}
Sequence::Sequence(const Sequence& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Sequence::Sequence(Sequence&&) noexcept = default;
Sequence& Sequence::operator=(const Sequence& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
Sequence& Sequence::operator=(Sequence&&) noexcept = default;
Sequence::~Sequence() = default;

Sequence::Change Sequence::join(Member member, Weight weight) {
  return impl_->join_last(member, weight);
}
Sequence::Change Sequence::join_at(Member member, Weight weight, std::uint64_t place) {
  return impl_->join(member, weight, place);
}
Sequence::Change Sequence::leave(Member member) { return impl_->leave(member); }
Sequence::Change Sequence::reweigh(Member member, Weight weight) {
  return impl_->reweigh(member, weight);
}
std::size_t Sequence::size() const { return impl_->size(); }
bool Sequence::contains(Member member) const { return impl_->contains(member); }
Weight Sequence::weight(Member member) const { return impl_->weight(member); }
std::uint64_t Sequence::position() const { return impl_->position(); }
std::uint64_t Sequence::cycle() const { return impl_->cycle(); }
void Sequence::set_position(std::uint64_t position) { impl_->set_position(position); }
std::vector<Sequence::Member> Sequence::ranked() const { return impl_->ranked(); }
bool Sequence::ranks_before(Member a, Member b) const { return impl_->ranks_before(a, b); }
std::vector<Sequence::Count> Sequence::advance(std::uint64_t slots) {
  return impl_->advance(slots);
}
std::vector<Sequence::Count> Sequence::rollback(std::uint64_t slots) {
  return impl_->rollback(slots);
}
Sequence::Member Sequence::next() { return impl_->next(); }

}  // namespace fairwater::inline policy::inline sequence
