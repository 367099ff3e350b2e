// What the commands of the ledger print for people.
#pragma once

#include <string>

#include "model/calls.hpp"

namespace fairwater::inline cli::inline cluster {

[[nodiscard]] std::string ledger_text(const LedgerView& ledger);
[[nodiscard]] std::string backup_text(const std::string& directory, const LedgerBackup& backup);
[[nodiscard]] std::string verify_text(const VerifyReport& report);
[[nodiscard]] std::string forgiven_text(const ForgiveDebt& wanted, const DebtsForgiven& forgiven);
[[nodiscard]] std::string standing_text(const LedgerStanding& standing);

}  // namespace fairwater::inline cli::inline cluster
