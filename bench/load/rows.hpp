// The rows of figures: each starts a cluster of its own, measures it, and throws when what it
// counts is not what it must be.
#pragma once

#include <stdexcept>
#include <vector>

#include "bench/load/setting.hpp"

namespace fairwater::load {

/// It took longer than is good. The rows that follow are measured nevertheless.
struct TooSlow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Row {
  const char* name;
  const char* what;
  void (*run)(const Sizes& sizes);
};
[[nodiscard]] const std::vector<Row>& rows();

void idle_nodes(const Sizes& sizes);
void restart(const Sizes& sizes);
void full_cluster(const Sizes& sizes);
void mixed(const Sizes& sizes);
void real_tasks(const Sizes& sizes);
void replicated_tasks(const Sizes& sizes);
void durable_tasks(const Sizes& sizes);
void agreed_tasks(const Sizes& sizes);
void journal_bytes(const Sizes& sizes);
void many_waiting(const Sizes& sizes);
void followers(const Sizes& sizes);
void pollers(const Sizes& sizes);
void scans(const Sizes& sizes);
void flood(const Sizes& sizes);
void agreed_flood(const Sizes& sizes);

}  // namespace fairwater::load
