// Opens pages in a headless browser and says what became of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fairwater::sim {

struct PageFacts {
  int canvases = 0;
  int painted = 0;         ///< canvases on which the first series' colour is found
  int said = -1;           ///< what the page's script says it drew; -1 when it says nothing
  int width_overflow = 0;  ///< pixels that the page is wider than its window
};

struct BrowserVisit {
  std::vector<std::string> console;        ///< everything said there: errors and all else
  std::map<std::string, PageFacts> pages;  ///< by path
};

/// Opens all pages at once, each in a window as wide as a phone. None, with a printed line, where
/// there is no browser. Throws when the browser hangs.
[[nodiscard]] std::optional<BrowserVisit> visit_pages(const std::vector<std::string>& paths);

}  // namespace fairwater::sim
