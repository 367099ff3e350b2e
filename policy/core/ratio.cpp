#include "policy/core/ratio.hpp"

namespace fairwater::inline policy::inline core {

bool is_reached(Amount need, Weight weight, Wide amount, Wide whole) {
  if (amount < 0) return false;
  Wide wanted = 0;
  // `amount` is below 2^63 and so its product fits; a product that does not is larger.
  return !__builtin_mul_overflow(Wide{need}, whole, &wanted) && wanted <= amount * weight;
}

Ratio Ratio::of(Amount need, Weight weight, std::uint32_t key, std::uint32_t slot) {
  // Both are exact in 64 bits of mantissa, and rounding a quotient once or twice keeps the order.
  static_assert(__LDBL_MANT_DIG__ >= 64);
  const auto ratio = static_cast<long double>(need) / static_cast<long double>(weight);
  return {need, weight, key, slot, static_cast<double>(ratio)};
}

bool Ratio::before_exactly(const Ratio& other) const {
  const Wide mine = Wide{need} * other.weight;
  const Wide others = Wide{other.need} * weight;
  return mine != others ? mine < others : key < other.key;
}

}  // namespace fairwater::inline policy::inline core
