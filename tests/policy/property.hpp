// Runs a RapidCheck property over a stated number of random cases as one Catch2 assertion.
#pragma once

#include <string>
#include <utility>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "tests/cases_of_build.hpp"

namespace fairwater::test {

/// `property` takes no argument and draws with `*rc::gen::...`. Failing cases are shrunk and
/// printed with what reproduces them (RC_PARAMS).
template <class Property>
void check_property(const std::string& name, int cases, Property&& property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = cases_of_build(cases);
  rc::detail::TestMetadata metadata;
  metadata.id = name;
  metadata.description = name;
  const rc::detail::TestResult result =
      rc::detail::checkTestable(std::forward<Property>(property), metadata, params);
  std::ostringstream report;
  rc::detail::printResultMessage(result, report);
  INFO(report.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
}

/// Uniform in [low, high], whatever RapidCheck's size is.
template <class Integer>
Integer draw(Integer low, Integer high) {
  return *rc::gen::resize(1000, rc::gen::inRange<Integer>(low, high + 1));
}

}  // namespace fairwater::test
