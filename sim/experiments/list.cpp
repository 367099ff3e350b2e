#include "sim/experiments/list.hpp"

namespace fairwater::sim {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all{
      {.name = "sequence-slots", .run = run_sequence_slots},
      {.name = "sequence-sized", .run = run_sequence_sized},
      {.name = "traces", .needs_traces = true, .run = run_traces},
  };
  return all;
}

}  // namespace fairwater::sim
