#include "sim/experiments/saturation_programs.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "policy/core/splitmix64.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr std::size_t kFiles = 4;  ///< compressed at once
constexpr double kMib = 1 << 20;
constexpr double kCoreStep = 0.25, kMemoryStep = 0.125;
constexpr double kSortBesideBuffer = 24 * kMib;  ///< code, stacks and merging take private data too

/// The programs' input, gone with the object.
class InputFolder {
 public:
  InputFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fairwater-measure-XXXXXX");
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;
  ~InputFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Lines of random hexadecimal words, which compress to about a half.
  [[nodiscard]] bool write_words(const std::string& name, std::size_t bytes,
                                 std::uint64_t seed) const {
    SplitMix64 random(seed);
    std::string text;
    while (text.size() < bytes) text += fmt::format("{:08x}\n", random.next() >> 32);
    std::ofstream file{path_ + "/" + name, std::ios::binary};
    return static_cast<bool>(file << text << std::flush);
  }

 private:
  std::string path_;
};

struct CurvePlan {
  MeasuredCurve curve;
  std::vector<double> amounts;
  std::function<std::vector<ProgramCommand>(double amount)> commands;
  std::function<ProgramLimits(double amount)> limits;
};

std::vector<CurvePlan> plan_curves(const ProgramPlan& plan, const std::string& folder,
                                   double all_cores) {
  std::vector<ProgramCommand> gzips;
  for (std::size_t i = 0; i < kFiles; ++i)
    gzips.push_back({"gzip", "-c", fmt::format("{}/part{}", folder, i)});
  ProgramCommand hash{"sha256sum"};
  for (std::size_t bytes = 0; bytes < plan.hashed_bytes; bytes += plan.input_bytes)
    hash.push_back(folder + "/whole");
  const auto sort = [folder](int threads, double buffer_mib) {
    return std::vector<ProgramCommand>{{"sort", fmt::format("--parallel={}", threads),
                                        fmt::format("--buffer-size={:.0f}K", buffer_mib * 1024),
                                        "--batch-size=4", "-T", folder, "-o", "/dev/null",
                                        folder + "/whole"}};
  };
  const auto by_cores = [](double cores) { return ProgramLimits{.cores = cores}; };
  const double large_buffer = plan.memory_mib.back();
  return {{.curve = {"gzip, four files at once", "cpu", "cores", kCoreStep, {}},
           .amounts = plan.cores,
           .commands = [gzips](double) { return gzips; },
           .limits = by_cores},
          {.curve = {"sort, four threads", "cpu", "cores", kCoreStep, {}},
           .amounts = plan.cores,
           .commands = [=](double) { return sort(kFiles, large_buffer); },
           .limits = by_cores},
          {.curve = {"sha256sum, one thread", "cpu", "cores", kCoreStep, {}},
           .amounts = plan.cores,
           .commands = [hash](double) { return std::vector<ProgramCommand>{hash}; },
           .limits = by_cores},
          {.curve = {"sort, one thread", "memory", "MiB of buffer", kMemoryStep, {}},
           .amounts = plan.memory_mib,
           .commands = [=](double amount) { return sort(1, amount); },
           .limits =
               [=](double amount) {
                 return ProgramLimits{
                     .cores = all_cores,
                     .data_bytes = static_cast<std::uint64_t>(amount * kMib + kSortBesideBuffer)};
               }}};
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Expected<std::vector<MeasuredCurve>> measure_programs(const ProgramPlan& plan,
                                                      ProgramRunner& runner,
                                                      const std::function<void(double)>& progress) {
  const InputFolder folder;
  bool written = !folder.path().empty() && folder.write_words("whole", plan.input_bytes, 1);
  for (std::size_t i = 0; i < kFiles && written; ++i)
    written = folder.write_words(fmt::format("part{}", i), plan.input_bytes / kFiles, 2 + i);
  if (!written)
    return make_error(ErrorCode::unavailable,
                      "the programs' input cannot be written to " + folder.path());

  auto curves = plan_curves(plan, folder.path(), static_cast<double>(runner.processors()));
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t round = 0; round < plan.most_rounds; ++round) {
    const double round_begin = seconds_since(begin);
    if (round >= 2 && round_begin + round_begin / static_cast<double>(round) > plan.most_seconds)
      break;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      CurvePlan& now = curves[i];
      for (const double amount : now.amounts) {
        const auto seconds = runner.run(now.commands(amount), now.limits(amount));
        if (!seconds) return seconds.error();
        now.curve.runs.push_back({.resources = {amount}, .time = *seconds});
      }
      progress((static_cast<double>(round) +
                static_cast<double>(i + 1) / static_cast<double>(curves.size())) /
               static_cast<double>(plan.most_rounds));
    }
  }
  progress(1);
  std::vector<MeasuredCurve> measured;
  measured.reserve(curves.size());
  for (CurvePlan& plan_of_one : curves) measured.push_back(std::move(plan_of_one.curve));
  return measured;
}

}  // namespace fairwater::sim::inline experiments
