#include "cli/cluster/job_output.hpp"

#include <algorithm>
#include <vector>

#include "cli/cluster/json_shapes.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

constexpr std::size_t kTailLines = 10;
constexpr std::size_t kTailBytes = 4096;

/// Both streams of one task on their way to the terminal.
class AttachedTask {
 public:
  AttachedTask(const Context& context, JobId job, std::uint32_t task, bool is_only)
      : prefix_(is_only ? "" : "[" + std::to_string(task) + "] "),
        streams_{{TaskOutput{job, task, false}, &context.out(), {}},
                 {TaskOutput{job, task, true}, &context.err(), {}}} {}

  /// Prints what came of the task's newest attempt. That its node is away is an error only for the
  /// last look.
  void read_on(Client& client, const TaskRecord& record, bool is_last) {
    const std::uint32_t begun = attempts_begun(record);
    for (auto& stream : streams_) {
      if (begun != attempt_) {
        stream.output.restart();
        stream.has_ended = false;
      }
      if (stream.has_ended || begun == 0) continue;
      const auto ended =
          stream.output.read_on(client, [&](const std::string& data) { print(stream, data); });
      if (ended ? *ended : is_last || !is_undone(ended.error())) finish(stream, ended);
    }
    attempt_ = begun;
  }

 private:
  struct Stream {
    TaskOutput output;
    std::ostream* to;
    std::string begun_line;
    bool has_ended = false;
  };

  void finish(Stream& stream, const Expected<bool>& ended) {
    stream.has_ended = true;
    if (!stream.begun_line.empty()) print(stream, "\n");
    if (!ended)
      *stream.to << prefix_
                 << "its output cannot be read: " << printable(details(ended.error()).message)
                 << "\n";
  }

  /// Of several tasks whole lines, so that they do not mix; of one everything at once.
  void print(Stream& stream, const std::string& data) {
    if (prefix_.empty()) {
      *stream.to << data << std::flush;
      return;
    }
    stream.begun_line += data;
    std::size_t start = 0;
    for (auto end = stream.begun_line.find('\n'); end != std::string::npos;
         end = stream.begun_line.find('\n', start)) {
      *stream.to << prefix_ << stream.begun_line.substr(start, end + 1 - start);
      start = end + 1;
    }
    stream.begun_line.erase(0, start);
    *stream.to << std::flush;
  }

  std::string prefix_;
  std::vector<Stream> streams_;
  std::uint32_t attempt_ = 0;
};

}  // namespace

Expected<bool> TaskOutput::read_on(Client& client,
                                   const std::function<void(const std::string&)>& use) {
  for (;;) {
    const auto chunk = client.read_log(job_, task_, standard_error_, offset_);
    if (!chunk) return chunk.error();
    if (!chunk->data.empty()) use(chunk->data);
    offset_ += chunk->data.size();
    if (chunk->end) return true;
    if (chunk->data.empty()) return false;
  }
}

std::string last_lines(const std::string& text) {
  std::size_t start = text.size();
  for (std::size_t lines = 0; lines < kTailLines && start > 0; ++lines) {
    // The line that ends at `start`, whose own end of line is the character before.
    const auto end_before = start >= 2 ? text.rfind('\n', start - 2) : std::string::npos;
    start = end_before == std::string::npos ? 0 : end_before + 1;
  }
  if (text.size() > kTailBytes) start = std::max(start, text.size() - kTailBytes);
  return text.substr(start);
}

Expected<OutputTail> tail_of(Session& session, JobId job, std::uint32_t task) {
  OutputTail tail;
  for (const bool standard_error : {true, false}) {
    TaskOutput output{job, task, standard_error};
    std::string text;
    const auto ended = output.read_on(
        session.client(), [&](const std::string& data) { text = last_lines(text + data); });
    if (!ended) return ended.error();
    tail = {standard_error, std::move(text)};
    if (!tail.text.empty()) break;
  }
  return tail;
}

caf::error stream_output(const Context& context, Session& session, JobId job) {
  std::vector<AttachedTask> tasks;
  for (bool has_ended = false;;) {
    const auto detail = session.ask([&](Client& client) { return client.show_job(job); });
    if (!detail) return detail.error();
    for (const auto& task : detail->tasks) {
      if (task.index == tasks.size())
        tasks.emplace_back(context, job, task.index, detail->tasks.size() == 1);
      tasks.at(task.index).read_on(session.client(), task.record, has_ended);
    }
    if (has_ended) return {};
    const auto record =
        session.ask([&](Client& client) { return client.wait_job(job, kOutputInterval_ms); });
    if (!record) return record.error();
    has_ended = is_terminal(state_of(*record));  // one more look: output may have come meanwhile
  }
}

}  // namespace fairwater::inline cli::inline cluster
