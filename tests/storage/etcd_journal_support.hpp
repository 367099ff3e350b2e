// What tests of the journal in etcd are made of.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "storage/etcd/etcd_journal.hpp"

namespace fairwater::test {

using namespace std::chrono_literals;

inline JournalHead head_at(std::uint64_t epoch, std::uint64_t number, std::uint8_t mark) {
  JournalHead head{epoch, number, {}};
  head.hash.fill(mark);
  return head;
}

inline RecordGroup group_of(const JournalHead& before, const JournalHead& after,
                            const std::string& content = "record") {
  RecordGroup group{before, after, {}};
  for (auto number = before.number; number < after.number; ++number)
    group.records.push_back(content + " " + std::to_string(number + 1));
  return group;
}

inline EtcdJournalOptions options_named(const std::string& name) {
  EtcdJournalOptions options;
  options.name = name;
  options.address = name + ":7400";
  options.version = "1";
  options.beat_ms = 10;
  return options;
}

template <class Condition>
bool comes_true(Condition condition, std::chrono::milliseconds within = 60s) {
  const auto until = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

}  // namespace fairwater::test
