// A class's curve as a picture: what runs took over the amounts of one resource.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/profile.hpp"

namespace fairwater::inline cli::inline profile {

/// Of one resource, with all others as they are at the point.
struct ChartPoint {
  Amount amount = 0;
  double time_ms = 0;  ///< median; 0: it does not run here
  double fastest_ms = 0;
  double slowest_ms = 0;
  std::string marks;  ///< first letters of the methods whose point it is
};
struct Chart {
  std::string resource;
  NamedAmounts others;  ///< those that vary, as they are along the curve
  std::vector<ChartPoint> points;
  std::string confidence;  ///< of the marks: `D 98 %, O 100 %`; empty where it is not known
};

/// One chart per resource that varies, through the `diagonal` point; of a class that was run with
/// one set of amounts none.
[[nodiscard]] std::vector<Chart> charts_of(const ProfileCurve& profile);

/// For a terminal of 80 columns, in ASCII.
[[nodiscard]] std::string chart_text(const Chart& chart);
/// A document of its own, the charts below each other.
[[nodiscard]] std::string charts_svg(const std::string& title, const std::vector<Chart>& charts);

}  // namespace fairwater::inline cli::inline profile
