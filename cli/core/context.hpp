// What every command of `fairwater` shares: where the coordinator is, how results and errors are
// printed, and the exit statuses.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "cli/core/output.hpp"
#include "model/errors.hpp"
#include "rpc/client.hpp"

namespace fairwater::inline cli::inline core {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;       ///< wrong usage or input
inline constexpr int kExitNotReached = 3;  ///< the coordinator was not reached
inline constexpr int kExitNotPermitted = 4;
inline constexpr int kExitCouldNotRun = 125;  ///< a job was cancelled or could not run

[[nodiscard]] int exit_status_of(ErrorCode code);

inline constexpr const char* kDefaultAddress = "127.0.0.1:7400";

/// The options that may stand anywhere on the command line.
struct GlobalOptions {
  std::string address;
  std::string token;
  std::string token_file;
  std::string coordinator_key;
  bool json = false;
  bool stale = false;  ///< of commands that offer it: what a coordinator that follows holds will do
};

class Context {
 public:
  Context(std::ostream& out, std::ostream& err) : out_(&out), err_(&err) {}

  GlobalOptions options;
  /// What followed `--`: a command to run, which no option parser may touch.
  std::vector<std::string> command;
  bool has_command = false;
  /// Set by the command that the arguments chose; returns the exit status.
  std::function<int()> action;

  /// Takes what the options leave open from FAIRWATER_ADDRESS, FAIRWATER_TOKEN and
  /// FAIRWATER_OUTPUT.
  [[nodiscard]] caf::error complete_from_environment();

  [[nodiscard]] std::ostream& out() const { return *out_; }
  [[nodiscard]] std::ostream& err() const { return *err_; }
  [[nodiscard]] bool json() const { return options.json; }

  /// A connection as the options say, where several coordinators are, once one of them leads: waits
  /// for that for 10 s. `invalid_input` when no token is given.
  [[nodiscard]] Expected<std::unique_ptr<Client>> connect() const;
  /// Beginning with the current one of these.
  [[nodiscard]] Expected<std::unique_ptr<Client>> connect(const AddressList& addresses) const;
  /// Connects, runs `use` and prints a failure to connect. What it prints by the context that it is
  /// given says how old it may be, where that is not from one that leads.
  [[nodiscard]] int with_client(const std::function<int(const Context&, Client&)>& use) const;
  /// Says so on standard error. Nothing of one that leads.
  void say_age(const Freshness& of) const;

  /// Prints the error as the output format wants it and returns its exit status.
  [[nodiscard]] int fail(const caf::error& error) const;
  [[nodiscard]] int fail_usage(const std::string& message, const std::string& field = {}) const;
  /// What is worth knowing and no failure: a line each on standard error. With --json nothing: the
  /// command puts them into its value, as `warnings`.
  void warn(const std::vector<std::string>& warnings) const;
  /// Prints one value with `"version": 1` in front.
  void print_json(const Json& fields) const;
  /// Prints one line of a stream at once.
  void print_line(const std::string& line) const;

 private:
  std::ostream* out_;
  std::ostream* err_;
  Freshness freshness_;  ///< of what is printed
};

}  // namespace fairwater::inline cli::inline core
