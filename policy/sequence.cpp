#include "policy/sequence.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "policy/check.hpp"
#include "policy/sequence_prefix.hpp"
#include "policy/sequence_tournament.hpp"

namespace fairwater {

using sequence_detail::ClassProgress;
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
    std::vector<Member>& peers = ranks_[weight];
    peers.insert(std::upper_bound(peers.begin(), peers.end(), joined,
                                  [&](std::uint64_t value, Member peer) {
                                    return value < terms_.at(peer).joined;
                                  }),
                 member);
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
    const auto rank = ranks_.find(terms.weight);
    std::erase(rank->second, member);
    if (rank->second.empty()) ranks_.erase(rank);
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

  [[nodiscard]] std::vector<Member> ranked() const {
    std::vector<Member> order;
    order.reserve(terms_.size());
    for (const auto& [weight, peers] : ranks_)
      order.insert(order.end(), peers.begin(), peers.end());
    return order;
  }

  [[nodiscard]] bool ranks_before(Member a, Member b) const {
    const Terms& x = terms_of(a);
    const Terms& y = terms_of(b);
    return x.weight != y.weight ? x.weight > y.weight : x.joined < y.joined;
  }

  std::vector<Count> advance(std::uint64_t slots) {
    if (slots == 0) return {};
    FAIRWATER_CHECK(cycle_ > 0, "slots need a member to fall to");
    const std::vector<ClassProgress> from = standing();
    const std::uint64_t rounds = slots / cycle_ + (position_ + slots % cycle_ >= cycle_ ? 1 : 0);
    move_to((position_ + slots % cycle_) % cycle_);
    return difference(from, standing(), rounds);
  }

  std::vector<Count> rollback(std::uint64_t slots) {
    if (slots == 0) return {};
    FAIRWATER_CHECK(cycle_ > 0, "slots need a member to be taken from");
    const std::vector<ClassProgress> to = standing();
    const std::uint64_t rest = slots % cycle_;
    const std::uint64_t rounds = slots / cycle_ + (rest > position_ ? 1 : 0);
    move_to((position_ + cycle_ - rest) % cycle_);
    return difference(standing(), to, rounds);
  }

  Member next() {
    FAIRWATER_CHECK(cycle_ > 0, "a slot needs a member to fall to");
    if (!upcoming_valid_) arrange_upcoming();
    const std::uint32_t index = class_of(upcoming_.smallest());
    const WeightClass& c = classes_[index];
    ClassProgress& p = standing_[index];
    const Member member = members_[first_[index] + place_of_next(index)];
    if (++p.extra == c.members) {
      p.extra = 0;
      ++p.count;
      upcoming_.set(index, upcoming_key(index));
    }
    if (++position_ == cycle_) move_to(0);
    return member;
  }

 private:
  struct Terms {
    Weight weight;
    std::uint64_t joined;  ///< order of joining
  };

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
  }

  void move_to(std::uint64_t position) {
    if (position == position_) return;
    position_ = position;
    standing_valid_ = upcoming_valid_ = false;
  }

  void arrange_classes() {
    if (!classes_.empty()) return;
    for (const auto& [weight, peers] : ranks_) {
      classes_.push_back(
          {static_cast<std::uint32_t>(weight), static_cast<std::uint32_t>(peers.size())});
      first_.push_back(members_.size());
      members_.insert(members_.end(), peers.begin(), peers.end());
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
    std::vector<Count> counts;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const WeightClass& c = classes_[i];
      const std::uint64_t each = rounds * c.weight + to[i].count - from[i].count;
      if (each == 0 && to[i].extra == from[i].extra) continue;
      for (std::uint32_t at = 0; at < c.members; ++at) {
        const std::uint64_t slots =
            each + has_extra(to[i], at, c.members) - has_extra(from[i], at, c.members);
        if (slots > 0) counts.push_back({members_[first_[i] + at], slots});
      }
    }
    return counts;
  }

  // A key is the time of a class's next slot, then its place among equals.
  [[nodiscard]] Tournament::Key upcoming_key(std::uint32_t index) const {
    const bool deficit = method_ == Method::max_deficit;
    const std::uint64_t slot = std::uint64_t{standing_[index].count} + (deficit ? 1 : 0);
    const std::uint64_t time = sequence_detail::time_of_slot(slot, classes_[index].weight);
    return (Tournament::Key{time} << 32) | (deficit ? ~index : index);
  }

  [[nodiscard]] std::uint32_t class_of(Tournament::Key key) const {
    const auto tie = static_cast<std::uint32_t>(key);
    return method_ == Method::max_deficit ? ~tie : tie;
  }

  void arrange_upcoming() {
    (void)standing();
    std::vector<Tournament::Key> keys(classes_.size());
    for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = upcoming_key(i);
    upcoming_.assign(keys);
    upcoming_valid_ = true;
  }

  Method method_;
  std::uint64_t position_ = 0;
  std::uint64_t cycle_ = 0;
  std::uint64_t last_joined_ = 0;
  std::unordered_map<Member, Terms> terms_;
  std::map<Weight, std::vector<Member>, std::greater<>> ranks_;  ///< peers in order of joining

  std::vector<WeightClass> classes_;     ///< in ranked order; empty: to be made
  std::vector<Member> members_;          ///< in ranked order
  std::vector<std::size_t> first_;       ///< per class, where its members begin
  std::vector<ClassProgress> standing_;  ///< per class, at `position_`
  bool standing_valid_ = false;
  Tournament upcoming_;  ///< the next slot of every class
  bool upcoming_valid_ = false;
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

}  // namespace fairwater
