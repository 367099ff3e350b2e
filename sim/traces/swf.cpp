#include "sim/traces/swf.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

namespace fairwater::inline swf {
namespace {

constexpr std::size_t kColumns = 18;
/// Largest number that a column may hold: sums and products with it stay in 64 bits.
constexpr std::int64_t kMaxValue = 1'000'000'000'000;

/// UTF-8's, with which some programs begin a text.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Columns that are read, counted from 0.
enum Column : std::size_t {
  kJobNumber = 0,
  kSubmit = 1,
  kRun = 3,
  kAllocated = 4,
  kRequested = 7,
  kRequestedTime = 8,
  kRequestedMemory = 9,
  kUser = 11,
  kGroup = 12,
  kQueue = 14,
};
constexpr std::array<const char*, kColumns> kColumnNames{
    "job number",     "submit time",      "wait time",   "run time",
    "processors",     "cpu time",         "used memory", "requested processors",
    "requested time", "requested memory", "status",      "user",
    "group",          "executable",       "queue",       "partition",
    "preceding job",  "think time"};

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

caf::error refuse(std::size_t line, const std::string& message) {
  return make_error(ErrorCode::invalid_input, fmt::format("line {}: {}", line, message), "trace");
}

/// The next word of the line, which loses it; empty at the end.
std::string_view next_word(std::string_view& line) {
  while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
  const auto end = std::find_if(line.begin(), line.end(), is_space);
  const auto word = line.substr(0, static_cast<std::size_t>(end - line.begin()));
  line.remove_prefix(word.size());
  return word;
}

/// A number; parts of a second, which some logs have, are cut off. Logs mean "not known" by every
/// negative number, -1 as a rule.
std::optional<std::int64_t> read_number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc{} || value < -kMaxValue || value > kMaxValue) return std::nullopt;
  const std::string_view rest{end, static_cast<std::size_t>(word.data() + word.size() - end)};
  const bool fraction = rest.size() > 1 && rest.front() == '.' &&
                        rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (!rest.empty() && !fraction) return std::nullopt;
  return std::max<std::int64_t>(value, -1);
}

using Row = std::array<std::int64_t, kColumns>;

/// Takes the columns off the line.
Expected<Row> parse_row(std::string_view& line, std::size_t line_number) {
  Row row{};
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::string_view word = next_word(line);
    if (word.empty())
      return refuse(line_number, fmt::format("{} columns instead of {}", i, kColumns));
    const auto value = read_number(word);
    if (!value)
      return refuse(line_number, fmt::format("column {} ({}): '{}' is not a number up to 10^12",
                                             i + 1, kColumnNames[i], word.substr(0, 40)));
    row[i] = *value;
  }
  return row;
}

SwfJob to_job(const Row& row) {
  return {.number = row[kJobNumber],
          .submit_s = row[kSubmit],
          .run_s = row[kRun],
          .processors = row[kAllocated] > 0 ? row[kAllocated] : row[kRequested],
          .requested_s = row[kRequestedTime],
          .requested_memory = row[kRequestedMemory],
          .user = row[kUser],
          .group = row[kGroup],
          .queue = row[kQueue],
          .extra = {}};
}

/// What zlib says of a file, which it begins with the file's name.
std::string_view without_path(std::string_view message, std::string_view path) {
  if (message.starts_with(path)) message.remove_prefix(path.size());
  if (message.starts_with(": ")) message.remove_prefix(2);
  return message;
}

std::string_view last_word(std::string_view line) {
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  const auto start = line.find_last_of(" \t");
  return start == std::string_view::npos ? line : line.substr(start + 1);
}

}  // namespace

Expected<SwfLog> parse_swf(std::string_view text, std::size_t max_jobs) {
  SwfLog log;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    if (max_jobs != 0 && log.jobs.size() == max_jobs) break;
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
    if (line.empty() || line.front() == ';') continue;
    const auto row = parse_row(line, line_number);
    if (!row) return row.error();
    SwfJob job = to_job(*row);
    job.extra = last_word(line);
    if (job.submit_s < 0) return refuse(line_number, "column 2 (submit time): is not known");
    if (job.run_s < 0 || job.processors < 1)
      ++log.skipped;
    else
      log.jobs.push_back(std::move(job));
  }
  std::stable_sort(log.jobs.begin(), log.jobs.end(),
                   [](const SwfJob& a, const SwfJob& b) { return a.submit_s < b.submit_s; });
  return log;
}

std::string tenant_name_of(const SwfJob& job, TenantColumn column) {
  const char letters[] = {'u', 'g', 'q'};
  const std::int64_t ids[] = {job.user, job.group, job.queue};
  const auto index = static_cast<std::size_t>(column);
  return ids[index] < 0 ? fmt::format("{}-unknown", letters[index])
                        : fmt::format("{}{}", letters[index], ids[index]);
}

Expected<std::string> read_maybe_gzip(const std::string& path, std::size_t max_bytes) {
  const auto refuse_file = [&](const std::string& message) {
    return make_error(ErrorCode::invalid_input, message, path);
  };
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file{gzopen(path.c_str(), "rb"), gzclose_r};
  if (!file) return refuse_file(fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text;
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const int count = gzread(file.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > max_bytes)
      return refuse_file(fmt::format("unpacks to more than {} bytes", max_bytes));
  }
  int code = Z_OK;
  const char* message = gzerror(file.get(), &code);
  if (code == Z_ERRNO) return refuse_file(fmt::format("cannot be read: {}", std::strerror(errno)));
  if (code != Z_OK) return refuse_file(fmt::format("is damaged: {}", without_path(message, path)));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace fairwater::inline swf
