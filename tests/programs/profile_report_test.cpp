// A profile as it is printed: the whole of it, in one golden text.
#include <catch2/catch.hpp>

#include "cli/profile/chart.hpp"
#include "cli/profile/report.hpp"

namespace fairwater {
namespace {

ClassProfile sorting() {
  ClassProfile profile{"physics", "sort", {}, false};
  const auto run = [&](Amount memory, std::int64_t run_ms, std::int64_t peak_kib) {
    add_run(profile, {{"cpu", 1000}, {"memory", memory}},
            {.run_ms = run_ms, .peak_memory_kib = peak_kib});
  };
  for (int i = 0; i < 2; ++i)
    add_run(profile, {{"cpu", 1000}, {"memory", 64}},
            {.reason = EndReason::memory_limit, .exit_code = 137, .peak_memory_kib = 65536});
  for (const std::int64_t off_ms : {-20, 0, 20}) {
    run(128, 4000 + off_ms, 120'000);
    run(256, 2000 + off_ms, 200'000);
    run(512, 1900 + off_ms, 300'000);
  }
  add_unfinished(profile, {{"cpu", 1000}, {"memory", 512}}, JobId{7});
  return profile;
}

}  // namespace

TEST_CASE("a profile is printed with its curve, points and confidence", "[golden][profile]") {
  CHECK(profile_text(sorting()) ==
        R"(class sort of tenant physics: 11 runs with 4 different amounts; 1 job has not ended

cpu   memory  runs  time  fastest  slowest  peak memory  failed
  1   64 MiB     0     -        -        -       64 MiB  2 memory_limit
  1  128 MiB     3    4s     3.9s       4s      118 MiB  -
  1  256 MiB     3    2s     1.9s       2s      196 MiB  -
  1  512 MiB     3  1.9s     1.8s     1.9s      293 MiB  -

run time over memory
      4s |             o
         |
         |
         |
         |
      2s |                      o        o
         |
         |
         |
         |
     0ms |    x
           64 MiB   128 MiB  256 MiB  512 MiB
                               DOC

point by  amounts                confidence  9 of 10 resamples
diagonal  cpu 1, memory 256 MiB       100 %  memory 256 MiB to 256 MiB
origin    cpu 1, memory 256 MiB       100 %  memory 256 MiB to 256 MiB
chord     cpu 1, memory 256 MiB       100 %  memory 256 MiB to 256 MiB
)");
}

TEST_CASE("a profile's JSON says what did not run, and why", "[golden][profile]") {
  const Json json = profile_json(sorting())["profile"];
  CHECK(json["class"] == "sort");
  CHECK(json["complete"] == true);
  REQUIRE(json["amounts"].size() == 4);
  CHECK(json["amounts"][0] == Json::parse(R"({"resources": {"cpu": 1000, "memory": 64}, "runs": 0,
      "failed": {"memory_limit": 2}, "unfinished": 0, "time": null, "fastest": null,
      "slowest": null, "peak_memory_kib": 65536})"));
  CHECK(json["amounts"][3]["unfinished"] == 1);
  CHECK(json["amounts"][1]["time"].get<double>() == Approx(4));
  REQUIRE(json["points"].size() == 3);
  for (const Json& point : json["points"]) {
    CHECK(point["resources"] == Json({{"cpu", 1000}, {"memory", 256}}));
    CHECK(point["confidence"].get<double>() > 0.9);
    CHECK(point["interval"]["memory"] == Json({256, 256}));
  }
}

TEST_CASE("a profile's picture is one document with every amount and mark", "[golden][profile]") {
  const std::string svg = profile_svg(sorting());
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  for (const char* words : {">64 MiB<", ">128 MiB<", ">512 MiB<", ">x<", ">DOC<", "<polyline",
                            "class sort of tenant physics", "run time over memory",
                            ">confidence: D 100 %, O 100 %, C 100 %<"})
    CHECK_THAT(svg, Catch::Contains(words));
}

TEST_CASE("of two resources that vary each has its chart, through the point", "[unit][profile]") {
  ClassProfile profile{"physics", "both", {}, false};
  for (const Amount cpu : {1000, 2000, 4000})
    for (const Amount memory : {64, 128})
      add_run(profile, {{"cpu", cpu}, {"memory", memory}}, {.run_ms = 8'000'000 / cpu});
  const auto charts = charts_of(curve_of(profile));
  REQUIRE(charts.size() == 2);
  CHECK(charts[0].resource == "cpu");
  CHECK(charts[0].others == NamedAmounts{{"memory", 64}});
  CHECK(charts[0].points.size() == 3);
  CHECK(charts[1].others == NamedAmounts{{"cpu", 2000}});
  CHECK(charts[1].points.size() == 2);
}

TEST_CASE("a profile says what it cannot tell", "[unit][profile]") {
  ClassProfile profile{"physics", "new", {}, false};
  add_run(profile, {{"cpu", 1000}}, {.exit_code = 1, .run_ms = 10});
  CHECK_THAT(profile_text(profile), Catch::Contains("has not run to its end"));
  add_run(profile, {{"cpu", 2000}}, {.run_ms = 10});
  CHECK_THAT(profile_text(profile), Catch::Contains("--vary"));
  add_run(profile, {{"cpu", 3000}}, {.run_ms = 8});
  CHECK_THAT(profile_text(profile), Catch::Contains("--repeat 3"));
}

TEST_CASE("one amount that runs beside others that do not is the point", "[golden][profile]") {
  ClassProfile profile{"physics", "mem", {}, false};
  add_run(profile, {{"cpu", 1000}, {"memory", 64}}, {.reason = EndReason::memory_limit});
  add_run(profile, {{"cpu", 1000}, {"memory", 128}}, {.run_ms = 1000});
  const std::string text = profile_text(profile);
  CHECK_THAT(text, Catch::Contains("run time over memory"));
  CHECK_THAT(text, Catch::Contains("diagonal  cpu 1, memory 128 MiB           -  -"));
  CHECK_THAT(text, Catch::EndsWith("it ran to its end with one of these amounts alone; whether "
                                   "more pays, others tell: fairwater profile run FILE --vary "
                                   "memory=128MiB..512MiB\n"));
  CHECK_THAT(text, !Catch::Contains("tells no point"));
}

TEST_CASE("runs of whole jobs are a curve of their own", "[golden][profile]") {
  ClassProfile profile{"physics", "queue", {}, false};
  for (const Amount tasks : {1, 2, 4, 8})
    for (const std::int64_t off_ms : {-20, 0, 20})
      add_run(profile, {{"cpu", 1000}, {"tasks", tasks}},
              {.run_ms = 4000 / std::min<Amount>(tasks, 4) + off_ms});
  const std::string text = profile_text(profile);
  for (const char* words :
       {"class queue of tenant physics: 12 runs of all tasks at once with 4 different amounts\n",
        "cpu  tasks  runs  time", "  1      4     3    1s", "run time over tasks",
        "diagonal  cpu 1, tasks 4       100 %  tasks 4 to 4"})
    CHECK_THAT(text, Catch::Contains(words));
  const Json json = profile_json(profile)["profile"];
  CHECK(json["amounts"].empty());
  CHECK(json["points"].empty());
  CHECK(json["tasks"]["flat"] == false);
  REQUIRE(json["tasks"]["amounts"].size() == 4);
  CHECK(json["tasks"]["amounts"][2]["resources"] == Json({{"cpu", 1000}, {"tasks", 4}}));
  CHECK(json["tasks"]["points"][0]["resources"]["tasks"] == 4);
  CHECK_THAT(profile_svg(profile), Catch::Contains("run time over tasks"));
  CHECK(profile_json(sorting())["profile"]["tasks"].is_null());
  add_run(profile, {{"cpu", 1000}}, {.run_ms = 5});
  CHECK_THAT(profile_text(profile), Catch::Contains("1 run with 1 different amount\n") &&
                                        Catch::Contains("12 runs of all tasks at once"));
}

}  // namespace fairwater
