#include "sim/report/statistics.hpp"

#include <catch2/catch.hpp>

namespace fairwater::sim {

TEST_CASE("mean and deviation of a textbook sample", "[unit][statistics]") {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(mean(values) == 5);
  CHECK(sample_standard_deviation(values) == Approx(2.13808993529939));  // sqrt(32 / 7)
}

TEST_CASE("the confidence interval is Student's", "[unit][statistics]") {
  // t tables, two sides, 95 %: 12.7062 for one degree of freedom, 2.77645 for 4, 1.98422 for 99.
  CHECK(confidence_half_width(std::vector<double>{1, 3}) == Approx(12.706204736));
  const std::vector<double> five = {1, 2, 3, 4, 5};  // deviation sqrt(2.5)
  CHECK(confidence_half_width(five) == Approx(2.776445105 * std::sqrt(2.5 / 5)));
  std::vector<double> hundred(100, 0.0);
  for (std::size_t i = 0; i < 50; ++i) hundred[i] = 1;
  CHECK(confidence_half_width(hundred) == Approx(1.984216952 * std::sqrt(25.0 / 99) / 10));
  CHECK(estimate(five).mean == 3);
  CHECK(estimate(five).half_width == confidence_half_width(five));
}

TEST_CASE("a single value has no spread", "[unit][statistics]") {
  CHECK(mean(std::vector<double>{7}) == 7);
  CHECK(sample_standard_deviation(std::vector<double>{7}) == 0);
  CHECK(confidence_half_width(std::vector<double>{7}) == 0);
}

TEST_CASE("quantiles lie on lines between the sorted values", "[unit][statistics]") {
  // R: quantile(c(9, 1, 3, 7), c(0, .1, .25, .5, .9, 1))
  const std::vector<double> values = {9, 1, 3, 7};
  CHECK(quantile(values, 0) == 1);
  CHECK(quantile(values, 0.1) == Approx(1.6));
  CHECK(quantile(values, 0.25) == Approx(2.5));
  CHECK(quantile(values, 0.5) == 5);
  CHECK(quantile(values, 0.9) == Approx(8.4));
  CHECK(quantile(values, 1) == 9);
  CHECK(quantile({4}, 0.3) == 4);
}

TEST_CASE("Jain's index tells how many share", "[unit][statistics]") {
  CHECK(jain_index(std::vector<double>{3, 3, 3}) == 1);
  CHECK(jain_index(std::vector<double>{1, 0, 0, 0}) == 0.25);
  CHECK(jain_index(std::vector<double>{1, 2, 3}) == Approx(36.0 / 42));
  CHECK(jain_index(std::vector<double>{0, 0}) == 1);
}

}  // namespace fairwater::sim
