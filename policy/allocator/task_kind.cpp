#include "policy/allocator/task_kind.hpp"

#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "policy/core/splitmix64.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

class Digest {
 public:
  void add(std::uint64_t number) { value_ = SplitMix64(value_ ^ number).next(); }
  void add(const std::vector<std::string>& texts) {
    add(texts.size());
    for (const std::string& text : texts) add(std::hash<std::string>{}(text));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace

TaskKind kind_of(const ResourceVector& demand, std::uint32_t at_once, const PlacementRule* rule,
                 std::optional<std::int32_t> preempts_below) {
  Digest digest;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    digest.add(static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(demand[r]))));
  digest.add(static_cast<std::uint64_t>(std::bit_width(at_once)));
  digest.add(preempts_below ? 1U : 0U);
  if (preempts_below) digest.add(static_cast<std::uint64_t>(*preempts_below));
  if (rule != nullptr) {
    digest.add(rule->sites);
    digest.add(rule->labels.text_digest());
    digest.add(rule->devices);
  }
  return {digest.value()};
}

}  // namespace fairwater::inline policy::inline allocator
