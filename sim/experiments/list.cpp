#include "sim/experiments/list.hpp"

namespace fairwater::sim {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all;
  return all;
}

}  // namespace fairwater::sim
