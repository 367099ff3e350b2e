#include "policy/ledger/decay.hpp"

#include <algorithm>
#include <array>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline ledger {
namespace {

using UnsignedWide = unsigned __int128;

constexpr UnsignedWide kOne = UnsignedWide{1} << 64;
constexpr std::size_t kBits = 64;

/// The root, rounded down.
constexpr UnsignedWide root_of(UnsignedWide square) {
  UnsignedWide root = 0;
  for (UnsignedWide bit = kOne >> 1; bit > 0; bit >>= 1)
    if ((root | bit) <= square / (root | bit)) root |= bit;
  return root;
}

/// 2^64 times 2^-(1/2), 2^-(1/4), ..
constexpr std::array<UnsignedWide, kBits> make_roots() {
  std::array<UnsignedWide, kBits> roots{};
  UnsignedWide last = kOne >> 1;
  for (UnsignedWide& root : roots) root = last = root_of(last << 64);
  return roots;
}
constexpr std::array<UnsignedWide, kBits> kRoots = make_roots();

}  // namespace

DecayFactor::DecayFactor(LedgerMs passed_ms, LedgerMs half_life_ms) {
  FAIRWATER_CHECK(passed_ms > 0 && half_life_ms > 0, "a debt shrinks with time");
  halvings_ = static_cast<unsigned>(std::min<LedgerMs>(passed_ms / half_life_ms, 64));
  UnsignedWide fraction = kOne;
  UnsignedWide left = static_cast<UnsignedWide>(passed_ms % half_life_ms);
  for (std::size_t i = 0; i < kBits && left > 0; ++i) {
    left *= 2;
    if (left < static_cast<UnsignedWide>(half_life_ms)) continue;
    left -= static_cast<UnsignedWide>(half_life_ms);
    fraction = (fraction * kRoots[i] + (kOne >> 1)) >> 64;
  }
  fraction_ = static_cast<Wide>(fraction);
}

DecayFactor::Balance DecayFactor::of(const Balance& balance) const {
  FAIRWATER_CHECK(balance.units >= 0, "a debt is not negative");
  const auto factor = static_cast<UnsignedWide>(fraction_);
  UnsignedWide product = static_cast<UnsignedWide>(balance.units) * factor +
                         ((UnsignedWide{balance.rest} * factor) >> 32);
  product >>= halvings_;
  return {.units = static_cast<Units>(product >> 64),
          .rest = static_cast<std::uint32_t>(product >> 32)};
}

}  // namespace fairwater::inline policy::inline ledger
