// What a coordinator does under load: figures of whole clusters (README.md).
#include <algorithm>
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include "bench/load/rows.hpp"

namespace fairwater::load {

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"idle", "nodes that only send heartbeats", idle_nodes},
      {"full", "a full cluster with every tenant's backlog", full_cluster},
      {"durable", "tasks that end at once: arrays and single jobs, of one tenant and of many",
       durable_tasks},
      {"agreed", "the same under three coordinators and three members of etcd", agreed_tasks},
      {"journal", "bytes that a task costs the ledger", journal_bytes},
      {"waiting", "many single jobs of one tenant that wait", many_waiting},
      {"mixed", "jobs of all kinds at once, checked by what the ledger says in the end", mixed},
      {"real", "/bin/true on one agent: an array, and jobs one by one", real_tasks},
      {"replicated", "/bin/true likewise under three coordinators and three members of etcd",
       replicated_tasks},
      {"restart", "the coordinator is killed: until it grants again, and every node is back",
       restart},
      {"followers", "jobs from submission to end beside followers of the journal", followers},
      {"pollers", "the status, once a second for each poller", pollers},
      {"scans", "logins beside four scans over jobs that have ended", scans},
      {"flood", "one tenant's submissions beside another's flood of them", flood},
      {"agreed_flood", "the same under three coordinators and three members of etcd", agreed_flood},
  };
  return all;
}

namespace {

int run(int argc, char** argv) {
  Sizes sizes;
  std::vector<std::string> wanted;
  CLI::App app{"Measures a coordinator of this build under simulated nodes and clients."};
  std::string names = "rows (all of them otherwise):";
  for (const Row& row : rows()) names += "\n  " + std::string(row.name) + ": " + row.what;
  app.footer(names);
  app.add_option("rows", wanted, "which rows to measure");
  app.add_option("--nodes", sizes.nodes, "simulated nodes")->capture_default_str();
  app.add_option("--tenants", sizes.tenants, "of a full cluster")->capture_default_str();
  app.add_option("--tasks", sizes.tasks, "of arrays")->capture_default_str();
  app.add_option("--jobs", sizes.jobs, "single jobs that end")->capture_default_str();
  app.add_option("--waiting", sizes.waiting, "single jobs that wait")->capture_default_str();
  app.add_option("--ended", sizes.ended, "tasks of the history that a coordinator starts on")
      ->capture_default_str();
  app.add_option("--real", sizes.real, "tasks that are real processes")->capture_default_str();
  app.add_option("--followers", sizes.followers, "of the journal")->capture_default_str();
  app.add_option("--pollers", sizes.pollers, "of the status")->capture_default_str();
  app.add_option("--seconds", sizes.seconds, "under measure")->capture_default_str();
  app.add_option("--most-slower", sizes.most_slower,
                 "percent that a mean submission beside a flood may take longer")
      ->capture_default_str();
  app.add_option("--accounting", sizes.accounting, "of the ledger: time or units");
  CLI11_PARSE(app, argc, argv);
  for (const auto& name : wanted)
    if (std::none_of(rows().begin(), rows().end(), [&](auto& row) { return row.name == name; }))
      throw std::runtime_error("there is no row " + name);
  int status = 0;
  for (const Row& row : rows()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), row.name) == wanted.end())
      continue;
    try {
      row.run(sizes);
    } catch (const TooSlow& error) {
      std::cerr << "load: " << error.what() << '\n';
      status = 1;
    }
  }
  return status;
}

}  // namespace

}  // namespace fairwater::load

int main(int argc, char** argv) {
  try {
    return fairwater::load::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "load: " << error.what() << '\n';
    return 1;
  }
}
