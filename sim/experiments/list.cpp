#include "sim/experiments/list.hpp"

namespace fairwater::sim::inline experiments {

const std::vector<Experiment>& all_experiments() {
  static const std::vector<Experiment> all{
      {.name = "sequence-table1", .run = run_sequence_table1},
      {.name = "sequence-table2", .run = run_sequence_table2},
      {.name = "sequence-slots", .run = run_sequence_slots},
      {.name = "sequence-sized", .run = run_sequence_sized},
      {.name = "water-fill-scaling", .deterministic = false, .run = run_water_fill_scaling},
      {.name = "saturation", .deterministic = false, .run = run_saturation},
      {.name = "drf", .run = run_drf},
      {.name = "qrea-load", .run = run_qrea_load},
      {.name = "qrea-fairness", .run = run_qrea_fairness},
      {.name = "gdrf", .needs_traces = true, .run = run_gdrf},
      {.name = "traces", .needs_traces = true, .run = run_traces, .slow = true},
      {.name = "patience", .needs_traces = true, .run = run_patience, .slow = true},
      {.name = "predictions", .needs_traces = true, .run = run_predictions},
      {.name = "starts", .needs_traces = true, .run = run_starts, .slow = true},
      {.name = "openb", .needs_traces = true, .run = run_openb, .slow = true},
  };
  return all;
}

}  // namespace fairwater::sim::inline experiments
