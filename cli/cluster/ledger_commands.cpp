// ledger show | journal | verify | backup | doubts | restored | trust | forgive, and events
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "cli/cluster/commands.hpp"
#include "cli/cluster/journal_lines.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/ledger_tables.hpp"
#include "cli/cluster/restore_report.hpp"
#include "cli/core/progress.hpp"
#include "cli/core/session.hpp"
#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

constexpr std::uint32_t kPage = 1000;
constexpr std::int64_t kFollowWait_ms = 30'000;
/// Of a coordinator that follows: it tells no one by itself that it hears nothing.
constexpr std::int64_t kStaleWait_ms = 5'000;

struct JournalOptions {
  std::uint64_t since = 1;
  bool follow = false;
};

int show_ledger(const Context& context, Client& client) {
  return print_answer(context, client.ledger(), ledger_json, ledger_text);
}

void print_record(const Context& context, const JournalRecord& record, const NameTable& names) {
  context.print_line(context.json() ? json_text(journal_json(record, names))
                                    : journal_text(record, names));
}

void print_events(const Context& context, const JournalRecord& record, const NameTable& names) {
  for (const auto& event : events_json(record, names))
    context.print_line(context.json() ? json_text(event) : event_text(event));
}

using Printer = void (*)(const Context&, const JournalRecord&, const NameTable&);

/// Says how old a stream from a coordinator that follows may be: when it begins, when another one
/// answers, and when it hears nothing for long.
class AgeNote {
 public:
  explicit AgeNote(const Context& context) : context_(&context) {}

  caf::error look(Session& session) {
    if (!context_->options.stale) return {};
    const auto freshness = session.ask([](Client& client) { return client.freshness(); });
    if (!freshness) return freshness.error();
    const bool is_old = freshness->age_ms >= kOld_ms;
    if (freshness->follower != said_of_ || is_old != was_old_) context_->say_age(*freshness);
    said_of_ = freshness->follower;
    was_old_ = is_old;
    return {};
  }

 private:
  static constexpr std::int64_t kOld_ms = 5'000;
  const Context* context_;
  std::string said_of_;  ///< nobody, or one that leads: nothing to say
  bool was_old_ = false;
};

/// The newest record that a stream has printed. A ledger that was restored has another one in its
/// place, or none yet.
class LastPrinted {
 public:
  void set(JournalRecord record, std::uint64_t login) {
    record_ = std::move(record);
    login_ = login;
  }
  /// `wrong_state` when the ledger does not have it any more; looked at where nothing follows it
  /// (`is_end`), and after each login. `may_lag`: who is asked need not have it yet.
  caf::error check(Client& client, bool is_end, bool may_lag) {
    if (!record_ || (!is_end && client.login() == login_)) return {};
    const auto page = client.journal(record_->number, 1, 0);
    if (!page) return page.error();
    login_ = client.login();
    const bool is_gone = page->records.empty() && !may_lag;
    // Behind what was cut from the history another number comes first.
    const bool is_other = !page->records.empty() &&
                          page->records.front().number == record_->number &&
                          page->records.front() != *record_;
    if (!is_gone && !is_other) return {};
    return make_error(ErrorCode::wrong_state,
                      "the ledger was taken back: record " + std::to_string(record_->number) +
                          ", which was printed last, is not in it any more, nor may be others "
                          "before; begin anew, and see fairwater ledger restored",
                      "since");
  }

 private:
  std::optional<JournalRecord> record_;
  std::uint64_t login_ = 0;
};

/// Reads page by page to the end; with `follow` it goes on, also through a coordinator's restart.
int read_journal(const Context& context, const JournalOptions& options, Printer print) {
  Session session{context};
  if (const auto error = session.connect()) return context.fail(error);
  AgeNote age(context);
  LastPrinted last;
  const std::int64_t wait_ms = context.options.stale ? kStaleWait_ms : kFollowWait_ms;
  for (std::uint64_t next = std::max<std::uint64_t>(options.since, 1);;) {
    if (auto error = age.look(session)) return context.fail(error);
    std::uint64_t login = 0;
    auto page = session.ask([&](Client& client) -> Expected<JournalPage> {
      const bool may_lag = context.options.stale;
      if (auto error = last.check(client, false, may_lag)) return error;
      auto read = client.journal(next, kPage, options.follow ? wait_ms : 0);
      login = client.login();
      if (!read) return read;
      const bool is_end = options.follow && read->records.empty();
      if (auto error = last.check(client, is_end, may_lag)) return error;
      return read;
    });
    if (!page) return context.fail(page.error());
    if (page->records.empty() && !options.follow) return kExitDone;
    if (page->records.empty()) continue;
    for (const auto& record : page->records) print(context, record, page->names);
    next = page->records.back().number + 1;
    last.set(std::move(page->records.back()), login);
  }
}

struct VerifyOptions {
  VerifyDirectory verify_directory = nullptr;
  std::string directory;
  bool with_archive = false;
};

Expected<VerifyReport> verify_anywhere(const Context& context, const VerifyOptions& options) {
  const ProgressLine progress{"rebuilding the ledger from its journal"};
  if (!options.directory.empty())
    return options.verify_directory(options.directory, options.with_archive);
  auto client = context.connect();
  if (!client) return client.error();
  return (*client)->verify_ledger(options.with_archive);
}

int verify(const Context& context, const VerifyOptions& options) {
  const auto report = verify_anywhere(context, options);
  const int printed = print_answer(context, report, verify_json, verify_text);
  return report && !report->ok ? kExitFailed : printed;
}

int make_backup(const Context& context, Client& client, const std::string& directory) {
  const ProgressLine progress{"making the backup, and verifying it"};
  const auto text = [&](const LedgerBackup& made) { return backup_text(directory, made); };
  const auto json = [&](const LedgerBackup& made) { return backup_json(directory, made); };
  return print_answer(context, client.backup_ledger(directory), json, text);
}

int show_restored(const Context& context, Client& client) {
  const ProgressLine progress{"reading the journal"};
  return print_answer(context, read_restore_report(client), restore_json, restore_text);
}

int show_doubts(const Context& context, Client& client) {
  return print_answer(context, client.ledger_standing(), standing_json, standing_text);
}

int trust(const Context& context, Client& client, const std::string& reason) {
  if (const auto error = client.trust_ledger(reason)) return context.fail(error);
  return show_doubts(context, client);
}

int forgive(const Context& context, Client& client, const ForgiveDebt& wanted) {
  const auto text = [&](const DebtsForgiven& forgiven) { return forgiven_text(wanted, forgiven); };
  const auto json = [&](const DebtsForgiven& forgiven) { return forgiven_json(wanted, forgiven); };
  return print_answer(context, client.forgive_debt(wanted), json, text);
}

void add_forgive_verb(CLI::App& noun, Context& context) {
  auto* verb =
      add_verb(noun, "forgive", "Forgive a tenant what it owes, or a part of it",
               "  fairwater ledger forgive --debtor physics --dry-run --reason 'let us see'\n"
               "  fairwater ledger forgive --debtor physics --reason 'it leaves us'\n"
               "  fairwater ledger forgive --debtor physics --creditor biology --amount 1.5core-h "
               "--reason 'a broken job'");
  auto wanted = std::make_shared<ForgiveDebt>();
  verb->add_option("--debtor", wanted->debtor, "who owes")->required();
  verb->add_option("--creditor", wanted->creditor,
                   "whose claim it is (default: all, in proportion)");
  verb->add_option("--amount", wanted->amount,
                   "at most that: core-hours or core-seconds as ledger show has them, or units "
                   "(default: all)");
  verb->add_option("--reason", wanted->reason, "kept in the journal")->required();
  verb->add_flag("--dry-run", wanted->dry_run, "only print what would be forgiven");
  on_run_with_client(verb, context, wanted, forgive);
}

void add_journal_reader(CLI::App& parent, Context& context, const char* name,
                        const char* description, const char* examples, Printer print) {
  auto* verb = add_verb(parent, name, description, examples);
  auto options = std::make_shared<JournalOptions>();
  verb->add_option("--since", options->since, "from this cycle on (default 1)")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  verb->add_flag("--follow", options->follow, "go on with what comes, until Ctrl-C");
  add_stale_option(verb, context);
  on_run(verb, context,
         [&context, options, print] { return read_journal(context, *options, print); });
}

}  // namespace

void add_ledger_commands(CLI::App& app, Context& context, VerifyDirectory verify_directory) {
  auto* noun = add_noun(app, "ledger", "Who owes whom, and the journal that proves it");

  auto* show_verb = add_verb(*noun, "show", "Net positions and IOUs",
                             "  fairwater ledger show\n  fairwater ledger show --json");
  add_stale_option(show_verb, context);
  on_run_with_client(show_verb, context, show_ledger);

  add_journal_reader(*noun, context, "journal", "The committed cycles, a line each",
                     "  fairwater ledger journal --since 100\n"
                     "  fairwater ledger journal --follow --json",
                     print_record);

  auto options = std::make_shared<VerifyOptions>();
  options->verify_directory = verify_directory;
  auto* verify_verb =
      add_verb(*noun, "verify", "Rebuild everything from the journal and compare",
               "  fairwater ledger verify\n  fairwater ledger verify --data /var/lib/fairwater");
  verify_verb->add_option("--data", options->directory,
                          "a data directory, without asking a coordinator");
  verify_verb->add_flag("--archive", options->with_archive,
                        "prove what was archived, too, from its first record on");
  on_run(verify_verb, context, [&context, options] { return verify(context, *options); });

  auto target = std::make_shared<std::string>();
  auto* backup_verb =
      add_verb(*noun, "backup", "Make a verified copy of the ledger while the cluster works",
               "  fairwater ledger backup /var/backups/fairwater/monday");
  backup_verb
      ->add_option("DIR", *target,
                   "a directory on the coordinator's machine that is not there yet; it holds the "
                   "cluster's keys, too")
      ->required();
  on_run_with_client(backup_verb, context, target, make_backup);

  auto* doubts_verb =
      add_verb(*noun, "doubts", "Whether the ledger is the newest, and which nodes say otherwise",
               "  fairwater ledger doubts\n  fairwater ledger doubts --json");
  on_run_with_client(doubts_verb, context, show_doubts);

  auto* restored_verb = add_verb(
      *noun, "restored", "What became of a lost life's tasks, after a ledger was taken back",
      "  fairwater ledger restored\n  fairwater ledger restored --json");
  on_run_with_client(restored_verb, context, show_restored);

  auto reason = std::make_shared<std::string>();
  auto* trust_verb = add_verb(
      *noun, "trust", "Go on from a ledger that lags, and give up what is missing in it",
      "  fairwater ledger trust --reason 'restored last night; the disk of the head is gone'");
  trust_verb->add_option("--reason", *reason, "kept in the journal")->required();
  on_run_with_client(trust_verb, context, reason, trust);

  add_forgive_verb(*noun, context);

  add_journal_reader(app, context, "events", "What happened, one thing per line",
                     "  fairwater events --follow\n  fairwater events --since 100 --json",
                     print_events);
}

}  // namespace fairwater::inline cli::inline cluster
