// Random values of any type that has a field list, inside a rapidcheck property.
#pragma once

#include <rapidcheck.h>

#include "tests/values/make.hpp"

namespace fairwater::test {

/// Short lists keep the many parts of a journal record readable when one fails.
class Arbitrary {
 public:
  [[nodiscard]] int choose(int first, int last, int) { return *rc::gen::inRange(first, last + 1); }
  template <class Number>
  [[nodiscard]] Number number() {
    return *rc::gen::arbitrary<Number>();
  }
  [[nodiscard]] std::string text() { return *rc::gen::arbitrary<std::string>(); }
  [[nodiscard]] std::size_t size(std::size_t most) {
    return *rc::gen::inRange<std::size_t>(0, most + 1);
  }
};

template <class Value>
[[nodiscard]] Value any() {
  Arbitrary arbitrary;
  return Maker<Arbitrary>(arbitrary).template make<Value>();
}

}  // namespace fairwater::test
