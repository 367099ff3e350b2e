// etcd as the coordinators' clients meet it: what its members agree on is one after the other, but
// a request may be lost, late, twice, or carried out without an answer, its leader may change, and
// its quorum go. Fairwater uses nothing of it but transactions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "storage/etcd/etcd_journal.hpp"
#include "tests/cluster_sim/world/stage.hpp"
#include "tests/cluster_sim/world/threads.hpp"
#include "tests/storage/etcd_model.hpp"

namespace fairwater::cluster_sim {

inline constexpr const char* kEtcdPrefix = "f";

class EtcdCluster {
 public:
  explicit EtcdCluster(Stage& stage) : stage_(stage) {}

  // -- what goes wrong ----------------------------------------------------------------------------
  std::int64_t no_quorum_until_us = 0;
  /// Its members choose a leader.
  std::int64_t electing_until_us = 0;
  std::int64_t max_delay_us = 4 * kMs;
  std::uint64_t loses_permille = 2;    ///< of requests, and of answers
  std::uint64_t repeats_permille = 2;  ///< of requests
  void mend();

  // -- what is agreed -----------------------------------------------------------------------------
  [[nodiscard]] JournalHead head() const;
  /// When somebody else began to lead; none: this one leads.
  [[nodiscard]] std::optional<std::int64_t> deposed_at_us(std::uint64_t epoch) const;
  /// The oldest record that is kept; 0: none is.
  [[nodiscard]] std::uint64_t oldest_record() const;

  // -- for its lines ------------------------------------------------------------------------------
  using Request = std::shared_ptr<const nlohmann::json>;
  using Answer = std::function<void(Expected<nlohmann::json>)>;
  /// A request has come to a member. `answer` is called at some time, or never.
  void take(const std::string& path, const Request& request, const Answer& answer);

 private:
  [[nodiscard]] nlohmann::json carry_out(const std::string& path, const nlohmann::json& request);
  /// What is proposed while nobody leads: refused, lost, or taken up by the next leader.
  void propose_in_vain(const std::string& path, const Request& request, const Answer& answer,
                       std::int64_t until_us);

  Stage& stage_;
  test::EtcdModel model_;
  std::string head_;                                   ///< as it is stored
  std::map<std::uint64_t, std::int64_t> began_at_us_;  ///< epochs
};

/// One coordinator's way to it.
class EtcdLine final : public Etcd {
 public:
  EtcdLine(Stage& stage, EtcdCluster& cluster) : stage_(stage), cluster_(cluster) {}

  Expected<nlohmann::json> call(const std::string& path, const nlohmann::json& request,
                                std::int64_t timeout_ms) override;
  /// Those of the process that calls; null: it is not simulated yet, and waits for nothing.
  Threads* threads = nullptr;
  std::int64_t up_cut_until_us = 0;    ///< towards etcd
  std::int64_t down_cut_until_us = 0;  ///< back

 private:
  void send(std::int64_t cut_until_us, const std::function<void()>& deliver);

  Stage& stage_;
  EtcdCluster& cluster_;
};

}  // namespace fairwater::cluster_sim
