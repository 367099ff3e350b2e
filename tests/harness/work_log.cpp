#include "tests/harness/work_log.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairwater::harness {

namespace {

// One short O_APPEND write per line: lines of different tasks do not mix.
std::string mark(const char* kind, const std::filesystem::path& file) {
  return fmt::format("echo {} $FAIRWATER_JOB_ID $FAIRWATER_TASK_INDEX $EPOCHREALTIME $$ >> '{}'",
                     kind, file.string());
}

}  // namespace

std::string WorkLog::start_line() const { return mark("start", file_); }

std::string WorkLog::command_line(const std::string& work) const {
  const std::string script =
      fmt::format("{}; {}; status=$?; {}; exit $status", start_line(), work, mark("end", file_));
  // JSON is YAML, and quotes what YAML would read.
  return fmt::format("command: {}\n", nlohmann::json({"bash", "-c", script}).dump());
}

std::vector<Run> WorkLog::runs() const {
  std::vector<Run> runs;
  std::map<std::string, std::size_t> by_key;
  std::ifstream file(file_);
  std::string kind, pid;
  double time = 0;
  Run run;
  while (file >> kind >> run.job >> run.index >> time >> pid) {
    const std::string key = fmt::format("{}.{}.{}", run.job, run.index, pid);
    if (kind == "start") {
      run.started = time;
      by_key[key] = runs.size();
      runs.push_back(run);
    } else if (const auto found = by_key.find(key); found != by_key.end()) {
      runs[found->second].ended = time;
    }
  }
  return runs;
}

std::map<std::pair<std::uint64_t, std::uint32_t>, int> WorkLog::starts() const {
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> starts;
  for (const Run& run : runs()) ++starts[{run.job, run.index}];
  return starts;
}

}  // namespace fairwater::harness
