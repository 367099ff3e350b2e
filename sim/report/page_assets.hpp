// The files that every page holds. The build puts them into the program (page_assets.S), so that
// neither a package nor a network is needed later.
#pragma once

#include <string_view>

namespace fairwater::sim::inline report {

[[nodiscard]] std::string_view page_style();     ///< sim/report/page.css
[[nodiscard]] std::string_view page_script();    ///< sim/report/page.js
[[nodiscard]] std::string_view chart_library();  ///< Chart.js, with its licence in the first lines

}  // namespace fairwater::sim::inline report
