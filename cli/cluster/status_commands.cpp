// status, top, version
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/cluster/commands.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/tables.hpp"
#include "cli/core/progress.hpp"
#include "cli/core/session.hpp"
#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"
#include "cli/core/version.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

constexpr std::chrono::seconds kHandOverPatience{20};
constexpr std::chrono::milliseconds kHandOverLook{50};

struct TopOptions {
  std::string interval = "2s";
  std::uint32_t count = 0;
};

int print_status(const Context& context, Client& client) {
  return print_answer(context, client.status(), status_json, status_text);
}

/// One frame of the live view, whoever leads by now.
int print_frame(const Context& context, Session& session, bool clear) {
  std::optional<ProgressLine> waiting{"waiting for a coordinator"};
  const auto status = session.ask([](Client& client) { return client.status(); });
  if (!status) return context.fail(status.error());
  const auto tenants = session.ask([](Client& client) { return client.list_tenants(); });
  if (!tenants) return context.fail(tenants.error());
  waiting.reset();
  if (context.json()) {
    Json frame = status_json(*status);
    frame.update(tenants_json(*tenants));
    context.print_line(json_text(frame));
    return kExitDone;
  }
  if (clear) context.out() << "\033[H\033[J";
  context.out() << status_text(*status) << "\n"
                << tenant_table(*tenants) << (clear ? "" : "\n") << std::flush;
  return kExitDone;
}

int run_top(Context& context, const TopOptions& options) {
  const auto interval = parse_duration_ms(options.interval);
  if (!interval || *interval < 1)
    return context.fail_usage("'" + options.interval + "' is not a duration such as 2s",
                              "interval");
  const bool clear = isatty(STDOUT_FILENO) == 1;
  Session session(context);
  if (auto error = session.connect()) return context.fail(error);
  auto next = std::chrono::steady_clock::now();
  for (std::uint32_t frame = 1;; ++frame) {
    const int status = print_frame(context, session, clear);
    if (status != kExitDone || frame == options.count) return status;
    next = std::max(next + std::chrono::milliseconds{*interval}, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(next);
  }
}

/// Asks whoever leads to let another lead, and waits until one does.
int hand_over(const Context& context) {
  Session session(context, kHandOverPatience);
  if (auto error = session.connect()) return context.fail(error);
  const auto before = session.client().status();
  if (!before) return context.fail(before.error());
  const auto refused = session.client().hand_over();
  if (refused && !is_undone(refused)) return context.fail(refused);
  for (const auto deadline = std::chrono::steady_clock::now() + kHandOverPatience;;) {
    const auto status = session.ask([](Client& client) { return client.status(); });
    if (!status) return context.fail(status.error());
    if (status->epoch != before->epoch && status->leader == before->leader)
      return context.fail(
          make_error(ErrorCode::wrong_state, status->leader + " leads again, since epoch " +
                                                 std::to_string(status->epoch) +
                                                 ": no other coordinator took over"));
    if (status->epoch != before->epoch) {
      if (context.json())
        context.print_json(
            Json{{"handover",
                  {{"from", before->leader}, {"to", status->leader}, {"epoch", status->epoch}}}});
      else
        context.print_line(fmt::format("{} leads, epoch {}", status->leader, status->epoch));
      return kExitDone;
    }
    if (std::chrono::steady_clock::now() > deadline)
      return context.fail(make_error(ErrorCode::unavailable, "nobody has taken over yet"));
    std::this_thread::sleep_for(kHandOverLook);  // nothing tells when another leads
  }
}

int print_version(const Context& context) {
  if (context.json())
    context.print_json(Json{{"software", kVersion}});
  else
    context.print_line(fmt::format("fairwater {}", kVersion));
  return kExitDone;
}

}  // namespace

void add_status_commands(CLI::App& app, Context& context) {
  auto* status = add_verb(app, "status", "The cluster in a few lines",
                          "  fairwater status\n  fairwater status --json\n"
                          "  fairwater status --stale --address head2:7400");
  add_stale_option(status, context);
  on_run_with_client(status, context, print_status);

  auto* top = add_verb(app, "top", "The cluster and its tenants, live, until Ctrl-C",
                       "  fairwater top\n  fairwater top --interval 500ms --count 10");
  auto options = std::make_shared<TopOptions>();
  top->add_option("--interval", options->interval, "between two views (default 2s)");
  top->add_option("--count", options->count, "stop after so many views")->check(any_count());
  on_run(top, context, [&context, options] { return run_top(context, *options); });

  auto* coordinator = add_noun(app, "coordinator", "Several coordinators with one ledger");
  auto* handover = add_verb(*coordinator, "handover", "Let another coordinator lead",
                            "  fairwater coordinator handover");
  on_run(handover, context, [&context] { return hand_over(context); });

  auto* version = add_verb(app, "version", "The program's version",
                           "  fairwater version\n  fairwater version --json");
  on_run(version, context, [&context] { return print_version(context); });
}

}  // namespace fairwater::inline cli::inline cluster
