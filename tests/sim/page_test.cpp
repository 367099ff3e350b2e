#include "sim/report/page.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "policy/core/splitmix64.hpp"
#include "process/temporary_directory.hpp"
#include "sim/report/page_assets.hpp"
#include "sim/report/page_data.hpp"
#include "tests/sim/browser.hpp"

namespace fairwater::sim {
namespace {

Series curve(const std::string& name, int points, double factor, bool with_error) {
  Series series{.name = name, .points = {}};
  for (int i = 1; i <= points; ++i) {
    series.points.emplace_back(i, factor * (2 + std::sin(i / 4.0)));
    if (with_error) series.error.push_back(0.2 * factor);
  }
  return series;
}

Chart line_chart() {
  return {.title = "Slots per tenant",
          .x_label = "heartbeat",
          .y_label = "slots that a tenant got, of those that its weight pays for",
          .kind = ChartKind::line,
          .series = {curve("physics", 40, 3, true), curve("biology", 40, 2, true),
                     curve("a tenant with a name that is long", 40, 1, false)}};
}

Chart step_chart() {
  return {.title = "Tasks that run",
          .x_label = "time, s",
          .y_label = "tasks",
          .kind = ChartKind::steps,
          .series = {{.name = "running", .points = {{0, 3}, {5, 8}, {7, 2}, {20, 2}}},
                     {.name = "waiting", .points = {{0, 9}, {4, 4}, {20, 0}}, .error = {1, 1, 0}}}};
}

Chart point_chart() {
  Chart chart{.title = "Waiting by size",
              .x_label = "size of the job, processors",
              .y_label = "mean wait, s",
              .kind = ChartKind::points,
              .x_scale = Scale::logarithmic,
              .y_scale = Scale::logarithmic};
  SplitMix64 random{7};
  for (const char* name : {"fair", "first come", "largest first"}) {
    Series series{.name = name, .points = {}};
    for (int i = 0; i < 30; ++i) {
      const double x = 1 + static_cast<double>(random.next() % 1000);
      series.points.emplace_back(x, x * (1 + static_cast<double>(random.next() % 40)));
      series.error.push_back(series.points.back().second * (i % 5 == 0 ? 1.5 : 0.3));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart bar_chart() {
  return {.title = "Makespan",
          .x_label = "workload",
          .y_label = "seconds",
          .kind = ChartKind::bars,
          .categories = {"KTH SP2", "NASA iPSC", "LANL CM5", "MetaCentrum Wagap"},
          .series = {{.name = "GDRF", .points = {{0, 12}, {1, 7}, {2, 9}, {3, 14}}},
                     {.name = "DRFH",
                      .points = {{0, 14}, {1, 8.5}, {2, 9}, {3, 21}},
                      .error = {1, 0.5, 2, 3}}}};
}

Chart many_series_chart() {
  Chart chart{.title = "Eleven tenants", .x_label = "cycle", .y_label = ""};
  for (int i = 0; i < 11; ++i)
    chart.series.push_back(curve("tenant " + std::to_string(i), 100, 1 + i, false));
  return chart;
}

Page every_kind() {
  return {.title = "Every kind of item",
          .summary = "What a page can hold, for the browser to draw.",
          .items = {Heading{"Tables"}, Paragraph{"Numbers stand at the right."},
                    Table{.title = "Claims",
                          .columns = {"paper", "claim", "measured", "share", "verdict"},
                          .rows = {{"Wang, Hong, Feng, figure 1",
                                    "no tenant is ever a whole slot behind its exact proportion",
                                    "at most 0.94 slots behind in 10,000 prefixes of 50 clusters",
                                    "99.4 %", "holds"},
                                   {"A paper", "a short claim", "nothing", "1,024.5 ms", "-"}}},
                    Heading{"Charts"}, line_chart(), step_chart(), point_chart(), bar_chart(),
                    many_series_chart()}};
}

std::string write_page(const TemporaryDirectory& directory, const std::string& name,
                       const std::string& html) {
  std::ofstream{directory / name} << html;
  return directory / name;
}

std::string with_chart(Chart chart) { return render_page({"page", "", {std::move(chart)}}); }

/// The chart's data as the page holds it.
nlohmann::json embedded(const std::string& html) {
  const std::string open = R"(<script type="application/json">)";
  const auto begin = html.find(open) + open.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

}  // namespace

TEST_CASE("a page of every kind of chart opens without an error", "[unit][page]") {
  TemporaryDirectory directory;
  const std::string path = write_page(directory, "page.html", render_page(every_kind()));
  if (std::getenv("FAIRWATER_KEEP") != nullptr) {
    directory.keep();
    WARN("kept: " << path);
  }
  const auto visit = visit_pages({path});
  if (!visit) return;
  CHECK(visit->console == std::vector<std::string>{});
  const PageFacts& facts = visit->pages.at(path);
  CHECK(facts.said == 5);
  CHECK(facts.canvases == 5);
  CHECK(facts.painted == 5);
  CHECK(facts.width_overflow == 0);
}

TEST_CASE("the browser reports a script that fails", "[unit][page]") {
  const TemporaryDirectory directory;
  const std::string good = render_page({"page", "", {step_chart()}});
  std::string broken = good;
  const auto place = broken.find("const data = JSON.parse(");
  REQUIRE(place != std::string::npos);
  broken.insert(place, "throw new Error('on purpose'); ");
  std::string fetching = good;
  fetching.insert(fetching.find("<h1>"), "<img src=\"https://127.0.0.1/x.png\">");
  const auto good_path = write_page(directory, "good.html", good);
  const auto broken_path = write_page(directory, "broken.html", broken);
  const auto fetching_path = write_page(directory, "fetching.html", fetching);
  const auto visit = visit_pages({good_path, broken_path, fetching_path});
  if (!visit) return;
  CHECK(visit->pages.at(good_path).painted == 1);
  CHECK(visit->pages.at(broken_path).painted == 0);
  CHECK(visit->pages.at(broken_path).said == -1);
  REQUIRE(visit->console.size() == 2);
  CHECK_THAT(visit->console[0] + visit->console[1],
             Catch::Contains("on purpose") && Catch::Contains("Content Security Policy"));
}

TEST_CASE("text stays text", "[unit][page]") {
  const std::string evil = "</script><script>alert('\"&')</script>";
  const std::string escaped =
      "&lt;/script&gt;&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;";
  Chart chart = step_chart();
  chart.title = chart.x_label = chart.y_label = chart.series[0].name = evil;
  Table table{.title = evil, .columns = {evil}, .rows = {{evil}}, .links = {evil}};
  const std::string html =
      render_page({evil, evil, {Heading{evil}, Paragraph{evil}, table, chart}});
  CHECK(html.find("alert('") == html.find("alert('\\\"&')"));  // only within JSON
  CHECK(html.find("</script><script>alert") == std::string::npos);
  CHECK_THAT(html, Catch::Contains("<h1>" + escaped + "</h1>") &&
                       Catch::Contains("<a href=\"" + escaped + "\">" + escaped + "</a>"));
  CHECK(embedded(html)["series"][0]["name"] == evil);

  const TemporaryDirectory directory;
  const auto path = write_page(directory, "evil.html", html);
  const auto visit = visit_pages({path});
  if (!visit) return;
  CHECK(visit->console == std::vector<std::string>{});
  CHECK(visit->pages.at(path).painted == 1);
}

TEST_CASE("the library may stand within a page", "[unit][page]") {
  for (const auto text : {chart_library(), page_script(), page_style()}) {
    CHECK(text.size() > 1000);
    CHECK(text.find("</script") == std::string_view::npos);
    CHECK(text.find("</style") == std::string_view::npos);
    CHECK(text.find("<!--") == std::string_view::npos);
  }
  CHECK_THAT(std::string{chart_library().substr(0, 300)},
             Catch::Contains("Chart.js") && Catch::Contains("MIT License"));
  // A page without charts goes without it.
  CHECK(render_page({"text", "", {Paragraph{"no chart"}}}).size() < 10'000);
}

TEST_CASE("numbers are written in the shortest form that reads back", "[unit][page]") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(100000) == "100000");
  SplitMix64 random{3};
  for (int i = 0; i < 1000; ++i) {
    const double number =
        std::ldexp(static_cast<double>(random.next()), static_cast<int>(random.next() % 200) - 100);
    CHECK(std::strtod(number_text(number).c_str(), nullptr) == number);
    CHECK(nlohmann::json::parse(number_text(number)).get<double>() == number);
  }
  const auto data = embedded(with_chart(bar_chart()));
  CHECK(data["series"][1]["points"][1] == nlohmann::json::array({1, 8.5}));
  CHECK(data["series"][1]["error"] == nlohmann::json::array({1, 0.5, 2, 3}));
}

TEST_CASE("thinning keeps both ends and every extreme", "[unit][page]") {
  SplitMix64 random{5};
  for (const std::size_t size : {0U, 1U, 3U, 4U, 5U, 7U, 100U, 1999U, 12'345U}) {
    for (const std::size_t limit : {4U, 5U, 100U, 2000U}) {
      CAPTURE(size, limit);
      Points points;
      for (std::size_t i = 0; i < size; ++i)
        points.emplace_back(i, static_cast<double>(random.next() % 100'000));
      const auto kept = thin(points, limit);
      REQUIRE(kept.size() == (size <= limit ? size : kept.size()));
      REQUIRE(kept.size() <= limit);
      REQUIRE(std::is_sorted(kept.begin(), kept.end()));
      REQUIRE(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
      if (size == 0) continue;
      CHECK(kept.front() == 0);
      CHECK(kept.back() == size - 1);
      const auto lower = [](const auto& a, const auto& b) { return a.second < b.second; };
      const auto [lowest, highest] = std::minmax_element(points.begin(), points.end(), lower);
      const auto holds = [&](double y) {
        return std::any_of(kept.begin(), kept.end(),
                           [&](std::size_t i) { return points[i].second == y; });
      };
      CHECK(holds(lowest->second));
      CHECK(holds(highest->second));
    }
  }
}

TEST_CASE("a chart of very many points says what it leaves out", "[unit][page]") {
  Chart chart = line_chart();
  chart.series = {curve("long", 10'000, 1, true), curve("short", 5, 1, false)};
  const std::string html = with_chart(chart);
  const auto data = embedded(html);
  CHECK(data["series"][0]["points"].size() == 2000);
  CHECK(data["series"][0]["error"].size() == 2000);
  CHECK(data["series"][1]["points"].size() == 5);
  CHECK_THAT(html, Catch::Contains("Drawn: long: 2000 of 10000 points: the first") &&
                       Catch::Contains("Listed: long: 500 of 10000 points: the first"));
  CHECK_THAT(with_chart(line_chart()), !Catch::Contains("Drawn:"));
}

TEST_CASE("a chart's data stands in a table", "[unit][page]") {
  const std::string bars = with_chart(bar_chart());
  CHECK_THAT(bars, Catch::Contains("<td class=\"phrase\">NASA iPSC</td><td class=\"number\">7</td>"
                                   "<td class=\"number\">8.5 ± 0.5</td>"));
  const std::string steps = with_chart(step_chart());  // the series have other places each
  CHECK_THAT(steps, Catch::Contains("<td>waiting</td><td class=\"number\">4</td>"
                                    "<td class=\"number\">4 ± 1</td>"));
}

TEST_CASE("columns of numbers stand at the right", "[unit][page]") {
  const auto is_right = [](const std::string& cell) {
    const Table table{.title = "", .columns = {"c"}, .rows = {{cell}, {"-"}, {"1"}}};
    return render_page({"page", "", {table}}).find("<td class=\"number\">") != std::string::npos;
  };
  for (const char* number : {"1", "-1,234.5", "+0.5", "3e-05", "12 %", "1.5 ± 0.2", "20 ms", ""})
    CHECK(is_right(number));
  for (const char* text : {"a1", "3 of 4", "2 tenants", "SP2", "2021-11-03 morning"})
    CHECK_FALSE(is_right(text));
}

}  // namespace fairwater::sim
