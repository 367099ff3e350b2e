// A class's profile, read in slices: amounts by amounts, of each the newest jobs until the profile
// has as many runs as it holds. Pure, but for the ledger that it reads.
#pragma once

#include <cstddef>
#include <optional>

#include "actors/coordinator/ledger.hpp"
#include "model/profile.hpp"

namespace fairwater::inline actors::inline coordinator {

class ProfileScan {
 public:
  using Answer = ClassProfile;
  explicit ProfileScan(QueryProfile request);

  /// Reads on for about ten milliseconds; true when the profile is complete.
  [[nodiscard]] bool read_slice(const Ledger& ledger);
  [[nodiscard]] ClassProfile take() { return std::move(profile_); }

 private:
  void read_amounts(const Ledger& ledger, const NamedAmounts& amounts);
  /// Of a job that measures tasks.
  std::size_t read_whole(const Ledger& ledger, const JobRecord& job);
  /// How many runs it had.
  std::size_t read_job(const Ledger& ledger, const JobRecord& job);

  const QueryProfile request_;
  std::optional<NamedAmounts> last_;  ///< amounts whose jobs were read
  std::size_t amounts_read_ = 0;
  ClassProfile profile_;
};

}  // namespace fairwater::inline actors::inline coordinator
