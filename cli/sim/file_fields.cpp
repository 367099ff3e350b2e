#include "cli/sim/file_fields.hpp"

#include <vector>

namespace fairwater::inline cli::inline sim_cli {

sim::Range read_range(const Field& field, const std::function<std::int64_t(const Field&)>& read) {
  if (!field.is(InputValue::Kind::list)) {
    const std::int64_t value = read(field);
    return {value, value};
  }
  std::vector<std::int64_t> values;
  for (const Field& item : field.list()) values.push_back(read(item));
  if (values.size() != 2 || values[0] > values[1])
    field.fail("a range is a list of two values, the smaller one first");
  return {values[0], values[1]};
}

sim::Range read_counts(const Field& field) {
  return read_range(field, integer_from(1, kMaxSimTasks));
}

sim::TimeMs read_time(const Field& field) {
  constexpr sim::TimeMs kMaxTime_ms = 100LL * 366 * 86'400'000;
  const sim::TimeMs time_ms = field.duration_ms();
  if (time_ms < 1 || time_ms > kMaxTime_ms)
    field.fail("'" + field.text() + "' is not from 1ms to 100 years");
  return time_ms;
}

}  // namespace fairwater::inline cli::inline sim_cli
