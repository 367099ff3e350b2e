// Runs the function benchmarks and prints one line per figure: `figure NAME VALUE UNIT`.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace fairwater::bench {

namespace {

class FigureReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const std::string name = run.benchmark_name();
      if (run.error_occurred) {
        std::cerr << fmt::format("{}: {}\n", name, run.error_message);
        failed_ = true;
        continue;
      }
      // Processor time, unless the benchmark waits for a disk and says so by UseRealTime().
      const bool waits = run.run_name.time_type == "real_time";
      std::cout << fmt::format("figure {} {:.6g} {}\n", name,
                               waits ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime(),
                               benchmark::GetTimeUnitString(run.time_unit));
      for (const auto& [counter, value] : run.counters) {
        std::cout << fmt::format("figure {}.{} {:.6g} {}\n", name, counter, value.value,
                                 counter.ends_with("_per_second") ? "1/s" : "1");
      }
      std::cout << std::flush;
    }
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

}  // namespace

}  // namespace fairwater::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
  fairwater::bench::FigureReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.failed() ? EXIT_FAILURE : EXIT_SUCCESS;
}
