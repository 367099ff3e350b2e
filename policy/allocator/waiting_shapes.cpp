#include "policy/allocator/waiting_shapes.hpp"

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {

void WaitingShapes::add(const ResourceVector& shape) {
  if (++shapes_[shape.amount] > 1) return;
  for (std::size_t r = 0; r < kMaxResources; ++r) ++amounts_[r][shape[r]];
  refresh();
}

void WaitingShapes::remove(const ResourceVector& shape) {
  const auto found = shapes_.find(shape.amount);
  FAIRWATER_CHECK(found != shapes_.end(), "a shape that goes was there");
  if (--found->second > 0) return;
  shapes_.erase(found);
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    const auto amount = amounts_[r].find(shape[r]);
    if (--amount->second == 0) amounts_[r].erase(amount);
  }
  refresh();
}

void WaitingShapes::refresh() {
  least_.clear();
  if (shapes_.empty()) least_.push_back(ResourceVector::filled(kUnlimited));
  if (shapes_.size() <= kMostShapes) {
    for (const auto& [shape, tenants] : shapes_) least_.push_back({shape});
    return;
  }
  ResourceVector& least = least_.emplace_back();
  for (std::size_t r = 0; r < kMaxResources; ++r) least[r] = amounts_[r].begin()->first;
}

}  // namespace fairwater::inline policy::inline allocator
