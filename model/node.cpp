#include "model/node.hpp"

namespace fairwater {

std::string_view to_string(NodeState state) {
  switch (state) {
    case NodeState::up:
      return "up";
    case NodeState::draining:
      return "draining";
    case NodeState::drained:
      return "drained";
    case NodeState::down:
      break;
  }
  return "down";
}

}  // namespace fairwater
