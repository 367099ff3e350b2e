#include "policy/dominant/share_order.hpp"

#include <bit>
#include <numeric>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline dominant {
namespace {

using Bits = unsigned __int128;

struct Product {
  Bits high = 0;
  Bits low = 0;
  friend auto operator<=>(const Product&, const Product&) = default;
};

/// a * b for a, b < 2^96.
Product multiply(Bits a, Bits b) {
  const Bits a_low = static_cast<std::uint64_t>(a), a_high = a >> 64;
  const Bits b_low = static_cast<std::uint64_t>(b), b_high = b >> 64;
  const Bits middle = a_high * b_low + a_low * b_high;
  Product product{a_high * b_high + (middle >> 64), a_low * b_low};
  product.low += middle << 64;
  if (product.low < middle << 64) ++product.high;
  return product;
}

/// Denominators below this are told apart by floors alone.
constexpr Bits kFloorsDecide = Bits{1} << 47;

}  // namespace

ShareOrder::ShareOrder(std::span<const ShareStep> steps)
    : users_(steps.size()), leaves_(std::bit_ceil(steps.size() + 1)), nodes_(2 * leaves_, kNever) {
  FAIRWATER_CHECK(steps.size() < 0xFFFF'FFFF, "user numbers take 32 bits");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ShareStep& step = steps[i];
    FAIRWATER_CHECK(step.weight >= 1 && step.weight <= kMaxShareWeight, "weight out of range");
    FAIRWATER_CHECK(step.demand >= 0 && step.total >= 0 && step.total <= kUnlimited,
                    "amount out of range");
    User& user = users_[i];
    user.can_advance = step.demand <= step.total && step.total > 0;
    if (!user.can_advance) continue;
    Amount demand = step.demand, total = step.total;
    Weight weight = step.weight;
    if (static_cast<Bits>(total) * static_cast<Bits>(weight) >= kFloorsDecide) {
      const Amount with_total = std::gcd(demand, total);
      demand /= with_total;
      total /= with_total;
      const Amount with_weight = std::gcd(demand, weight);
      demand /= with_weight;
      weight /= with_weight;
    }
    user.demand = demand;
    user.denominator = static_cast<Bits>(total) * static_cast<Bits>(weight);
    user.step = divide(static_cast<Bits>(demand), user.denominator);
    if (user.denominator >= kFloorsDecide) floors_decide_ = false;
  }
  for (std::size_t i = 0; i < users_.size(); ++i) nodes_[leaves_ + i] = key(users_[i].share, i);
  play_all();
}

ShareOrder::Share ShareOrder::divide(Bits numerator, Bits denominator) {
  Share share{0, numerator};
  const auto shift = [&share, denominator](int bits) {
    const Bits part = share.rest << bits;
    share.floor = (share.floor << bits) + part / denominator;
    share.rest = part % denominator;
  };
  if (denominator >> 64 == 0 && numerator >> 64 == 0) {
    shift(64);
    shift(31);
  } else {
    shift(32);
    shift(32);
    shift(31);
  }
  return share;
}

void ShareOrder::advance(std::size_t user) {
  User& entry = users_[user];
  FAIRWATER_CHECK(entry.can_advance, "a task that exceeds the total was placed");
  entry.share.floor += entry.step.floor;
  entry.share.rest += entry.step.rest;
  if (entry.share.rest >= entry.denominator) {
    entry.share.rest -= entry.denominator;
    ++entry.share.floor;
  }
  play(user, key(entry.share, user));
}

void ShareOrder::restart(std::span<const std::uint64_t> tasks, const std::vector<bool>& asks) {
  for (std::size_t i = 0; i < users_.size(); ++i) {
    User& user = users_[i];
    user.share = divide(Bits{tasks[i]} * static_cast<Bits>(user.demand), user.denominator);
    nodes_[leaves_ + i] = asks[i] ? key(user.share, i) : kNever;
  }
  play_all();
}

ShareOrder::Bits ShareOrder::smaller_by_rest(Bits a, Bits b) const {
  if (a == kNever || b == kNever) return a < b ? a : b;
  const User& first = users_[static_cast<std::uint32_t>(a)];
  const User& second = users_[static_cast<std::uint32_t>(b)];
  const Product left = multiply(first.share.rest, second.denominator);
  const Product right = multiply(second.share.rest, first.denominator);
  if (left == right) return a < b ? a : b;
  return left < right ? a : b;
}

void ShareOrder::play(std::size_t user, Bits key) {
  std::size_t node = leaves_ + user;
  nodes_[node] = key;
  for (; node > 1; node /= 2) {
    key = smaller(key, nodes_[node ^ 1]);
    nodes_[node / 2] = key;
  }
}

void ShareOrder::play_all() {
  for (std::size_t i = leaves_ - 1; i > 0; --i)
    nodes_[i] = smaller(nodes_[2 * i], nodes_[2 * i + 1]);
}

}  // namespace fairwater::inline policy::inline dominant
