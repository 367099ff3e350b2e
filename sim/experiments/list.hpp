// The experiments' functions; sim/experiments/list.cpp names them.
#pragma once

#include "sim/experiment.hpp"

namespace fairwater::sim {}  // namespace fairwater::sim
