// Where a task may run: allowed sites and a label expression, and how a node describes itself. And
// by which rule its node is chosen among those.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

/// By which rule a task's node is chosen among those with room: policy/allocator/node_choice.hpp.
enum class Placement : std::uint8_t {
  unset = 0,    ///< of a job: its tenant's; of a tenant: in turn
  in_turn = 1,  ///< the first that is dealt, as nodes report
  gdrf = 2,
  best_fit = 3,
  spread = 4,
  pack = 5,
};

[[nodiscard]] constexpr bool chooses_nodes(Placement placement) {
  return placement > Placement::in_turn;
}

[[nodiscard]] constexpr std::string_view to_string(Placement placement) {
  switch (placement) {
    case Placement::gdrf:
      return "gdrf";
    case Placement::best_fit:
      return "best-fit";
    case Placement::spread:
      return "spread";
    case Placement::pack:
      return "pack";
    case Placement::unset:
    case Placement::in_turn:
      break;
  }
  return "in-turn";
}

/// A node's devices of one resource, by name, in the order in which they are given out.
struct NodeDevices {
  std::string resource;
  std::vector<std::string> names;
  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

/// What a node says of itself that placement rules look at.
struct NodeTraits {
  std::string name;
  std::string site;
  std::map<std::string, std::string> labels;
  std::vector<NodeDevices> devices = {};  ///< as far as it knows their names
  friend bool operator==(const NodeTraits&, const NodeTraits&) = default;
};

/// Whether an expression can name it, as a key or a value.
[[nodiscard]] bool is_label_word(std::string_view text);

/// A parsed label expression: `ssd && zone in (a, b)`, `!gpu || arch == arm`, parentheses, `!=`.
/// A bare key holds when the node has that label with any value other than "false".
class LabelExpression {
 public:
  LabelExpression();  ///< allows everything
  ~LabelExpression();
  LabelExpression(const LabelExpression&);
  LabelExpression& operator=(const LabelExpression&);

  /// Parses `text`; on failure returns the reason, with the column. Nesting and length are bounded.
  [[nodiscard]] static std::variant<LabelExpression, std::string> parse(std::string_view text);
  [[nodiscard]] bool allows(const std::map<std::string, std::string>& labels) const;
  /// Whether both say the same in the same order.
  friend bool operator==(const LabelExpression& a, const LabelExpression& b);
  /// The same for the same text.
  [[nodiscard]] std::uint64_t text_digest() const { return text_digest_; }

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
  std::uint64_t text_digest_ = 0;
};

/// Null pointers to a rule mean "anywhere".
struct PlacementRule {
  std::vector<std::string> sites;  ///< empty: any site
  LabelExpression labels;
  std::vector<std::string> devices = {};  ///< each task takes all of these
  [[nodiscard]] bool allows(const NodeTraits& node) const;
};
using PlacementRulePtr = std::shared_ptr<const PlacementRule>;

}  // namespace fairwater::inline policy::inline allocator
