#include "sim/report/page_assets.hpp"

#include <cstddef>

extern "C" {
// Defined in page_assets.S.
extern const char fairwater_page_style[];
extern const char fairwater_page_style_end[];
extern const char fairwater_page_script[];
extern const char fairwater_page_script_end[];
extern const char fairwater_chart_library[];
extern const char fairwater_chart_library_end[];
}

namespace fairwater::sim::inline report {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view page_style() { return between(fairwater_page_style, fairwater_page_style_end); }
std::string_view page_script() { return between(fairwater_page_script, fairwater_page_script_end); }
std::string_view chart_library() {
  return between(fairwater_chart_library, fairwater_chart_library_end);
}

}  // namespace fairwater::sim::inline report
