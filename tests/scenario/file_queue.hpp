// Work for elastic jobs: a queue of files that any number of workers work off.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {

/// A queue of so many files, each so many seconds' work.
class FileQueue {
 public:
  FileQueue(const Cluster& cluster, int files, std::string work = "0.1")
      : directory_(cluster.directory() / "queue"), work_(std::move(work)) {
    for (const char* part : {"todo", "busy", "done"})
      std::filesystem::create_directories(directory_ / part);
    for (int i = 0; i < files; ++i) std::ofstream(directory_ / "todo" / std::to_string(i)) << i;
  }
  [[nodiscard]] std::string job(std::uint32_t min, std::uint32_t max,
                                const std::string& tenant = "web",
                                const std::string& first = {}) const {
    const std::string script = first + "cd " + directory_.string() +
                               "; me=$FAIRWATER_TASK_INDEX\n"
                               "give_back() { for mine in busy/$me.*; do [ -e $mine ] && mv $mine "
                               "todo/${mine#busy/$me.}; done; }\n"
                               "trap 'give_back; exit 143' TERM\ngive_back\n"
                               "while file=$(ls todo | shuf -n 1) && [ -n \"$file\" ]; do\n"
                               "  mv todo/$file busy/$me.$file 2>/dev/null || continue\n"
                               "  sleep " +
                               work_ + " & wait $!\n  mv busy/$me.$file done/$file\ndone\n";
    return fmt::format(
        "tenant: {}\ntasks: {{min: {}, max: {}}}\ngrace: 2s\nresources: {{cpu: 1, memory: "
        "64MiB}}\ncommand: {}\n",
        tenant, min, max, json({"bash", "-c", script}).dump());
  }
  [[nodiscard]] std::size_t files(const char* part) const {
    const auto all = std::filesystem::directory_iterator(directory_ / part);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

 private:
  std::filesystem::path directory_;
  std::string work_;
};

}  // namespace fairwater::scenario
