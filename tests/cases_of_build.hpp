// How many of its random cases a test looks at.
#pragma once

#include <algorithm>

namespace fairwater::test {

/// Of so many random cases those that a build looks at: under ASan, where each takes at least ten
/// times as long, a fifth. It looks for how memory is used, in which many cases are alike; whether
/// the rule holds is for the plain build. TSan looks at no property.
constexpr int cases_of_build(int cases) {
#ifdef __SANITIZE_ADDRESS__
  return std::max(1, cases / 5);
#else
  return cases;
#endif
}

}  // namespace fairwater::test
