// The series of samples of one run, for other programs: what each tenant holds of every resource
// (in millicores, MiB and whole numbers), its units, share, use so far, ledger balance, credit and
// queue.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "sim/report/metrics.hpp"

namespace fairwater::sim::inline report {

/// `times_s`, and for each tenant an array per value, by sample.
[[nodiscard]] nlohmann::ordered_json series_json(const Cluster& cluster, const RunMetrics& run);
/// One line for each sample and tenant, with a line of titles.
[[nodiscard]] std::string series_csv(const Cluster& cluster, const RunMetrics& run);

}  // namespace fairwater::sim::inline report
