// What the journal's records say, as JSON, and one by one the things that they list.
#pragma once

#include "cli/core/output.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline cluster {

/// Everything that a record says, but for hashes of secrets.
[[nodiscard]] Json fields_json(const JournalBody& body, const NameTable& names);

[[nodiscard]] Json task_key_json(const TaskKey& task);
[[nodiscard]] Json result_json(const TaskResult& result);
[[nodiscard]] Json failed_launch_json(const FailedLaunch& launch, const NameTable& names);
[[nodiscard]] Json reclaim_json(const Reclaim& reclaim, const NameTable& names);
[[nodiscard]] Json grant_json(const Grant& grant, const NameTable& names);
[[nodiscard]] Json repayment_json(const Repayment& repayment, const NameTable& names);
[[nodiscard]] Json loan_json(const Loan& loan, const NameTable& names);
/// A deal with all its lines, grants, repayments and loans.
[[nodiscard]] Json deal_json(const Deal& deal, const NameTable& names);

}  // namespace fairwater::inline cli::inline cluster
