#include "tests/sim/browser.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "process/temporary_directory.hpp"
#include "tests/harness/child_process.hpp"

namespace fairwater::sim {
namespace {

constexpr std::chrono::seconds kPatience{60};

/// Looks into its frames once all are loaded, and writes what it finds into itself.
constexpr const char* kOuterScript = R"(
addEventListener("load", () => {
  const facts = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument;
    const canvases = [...page.querySelectorAll("canvas")];
    const style = frame.contentWindow.getComputedStyle(page.documentElement);
    const hex = style.getPropertyValue("--series-1").trim().slice(1);
    const colour = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const isPainted = (canvas) => {
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      for (let i = 0; i < pixels.length; i += 4)
        if (pixels[i + 3] > 200 && colour.every((value, k) => Math.abs(value - pixels[i + k]) < 8)) return true;
      return false;
    };
    return { canvases: canvases.length, painted: canvases.filter(isPainted).length,
             said: Number(page.body.dataset.charts ?? -1),
             width_overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth };
  });
  document.body.innerHTML = "<pre>" + JSON.stringify(facts) + "</pre>";
});
)";

std::string find_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders{path != nullptr ? path : ""};
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::filesystem::exists(folder + "/" + program)) return folder + "/" + program;
  return {};
}

std::string outer_page(const std::vector<std::string>& paths) {
  std::string text = "<!DOCTYPE html><meta charset=utf-8><body>\n";
  for (const std::string& path : paths)
    text += "<iframe width=390 height=800 src=\"file://" + path + "\"></iframe>\n";
  return text + "<script>" + kOuterScript + "</script></body>\n";
}

std::vector<std::string> console_lines(const std::string& errors) {
  std::vector<std::string> found;
  std::istringstream lines{errors};
  for (std::string line; std::getline(lines, line);)
    if (line.find(":CONSOLE") != std::string::npos) found.push_back(line);
  return found;
}

}  // namespace

std::optional<BrowserVisit> visit_pages(const std::vector<std::string>& paths) {
  const std::string browser = find_in_path("chromium-headless-shell");
  if (browser.empty()) {
    WARN("skipped: no chromium-headless-shell");
    return std::nullopt;
  }
  const TemporaryDirectory directory;
  const std::string outer = directory / "outer.html";
  std::ofstream{outer} << outer_page(paths);
  const auto done = harness::run(
      {.command = {browser, "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                   "--allow-file-access-from-files", "--user-data-dir=" + directory / "profile",
                   "--virtual-time-budget=10000", "--dump-dom", "file://" + outer}},
      {}, kPatience);
  const auto begin = done.output.find("<pre>");
  const auto end = done.output.find("</pre>");
  if (done.status != 0 || begin == std::string::npos || end == std::string::npos)
    throw std::runtime_error("the browser found nothing: " + done.output + done.errors);
  const auto facts = nlohmann::json::parse(done.output.substr(begin + 5, end - begin - 5));
  BrowserVisit visit{console_lines(done.errors), {}};
  for (std::size_t i = 0; i < paths.size(); ++i)
    visit.pages[paths[i]] = {facts[i]["canvases"], facts[i]["painted"], facts[i]["said"],
                             facts[i]["width_overflow"]};
  return visit;
}

}  // namespace fairwater::sim
