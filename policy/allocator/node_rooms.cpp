#include "policy/allocator/node_rooms.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {
namespace {

/// No demand fits it.
constexpr ResourceVector kNoRoom = ResourceVector::filled(-1);

bool fits_one(std::span<const ResourceVector> demands, const ResourceVector& free) {
  return std::any_of(demands.begin(), demands.end(),
                     [&](const ResourceVector& demand) { return demand.fits(free); });
}

ResourceVector most_of(const ResourceVector& a, const ResourceVector& b) {
  ResourceVector most;
  for (std::size_t r = 0; r < kMaxResources; ++r) most[r] = std::max(a[r], b[r]);
  return most;
}

}  // namespace

std::size_t NodeRooms::find(NodeId node) const {
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), node);
  if (found == ids_.end() || *found != node) return kNone;
  return static_cast<std::size_t>(found - ids_.begin());
}

void NodeRooms::set(NodeId node, const ResourceVector& free) {
  std::size_t place = find(node);
  if (place == kNone) place = add_place(node);
  put(place, free);
}

void NodeRooms::remove(NodeId node) {
  if (const std::size_t place = find(node); place != kNone) put(place, kNoRoom);
}

void NodeRooms::put(std::size_t place, const ResourceVector& free) {
  std::size_t match = leaves_ + place;
  most_free_[match] = free;
  for (match /= 2; match >= kRoot; match /= 2) {
    const ResourceVector most = most_of(most_free_[2 * match], most_free_[2 * match + 1]);
    if (most == most_free_[match]) return;
    most_free_[match] = most;
  }
}

std::size_t NodeRooms::add_place(NodeId node) {
  if (ids_.size() == leaves_) grow();
  const auto before = std::lower_bound(ids_.begin(), ids_.end(), node);
  const auto place = before - ids_.begin();
  ids_.insert(before, node);
  if (static_cast<std::size_t>(place) + 1 == ids_.size()) return ids_.size() - 1;
  most_free_.insert(most_free_.begin() + static_cast<std::ptrdiff_t>(leaves_) + place, kNoRoom);
  most_free_.pop_back();
  refresh_matches();
  return static_cast<std::size_t>(place);
}

void NodeRooms::forget(NodeId node) {
  const std::size_t place = find(node);
  if (place == kNone) return;
  ids_.erase(ids_.begin() + static_cast<std::ptrdiff_t>(place));
  most_free_.erase(most_free_.begin() + static_cast<std::ptrdiff_t>(leaves_ + place));
  most_free_.push_back(kNoRoom);
  refresh_matches();
}

std::optional<ResourceVector> NodeRooms::room_of(NodeId node) const {
  const std::size_t place = find(node);
  return place == kNone ? std::nullopt : std::optional(most_free_[leaves_ + place]);
}

void NodeRooms::refresh_matches() {
  for (std::size_t match = leaves_ - 1; match >= kRoot; --match)
    most_free_[match] = most_of(most_free_[2 * match], most_free_[2 * match + 1]);
}

void NodeRooms::grow() {
  const std::size_t leaves = std::max<std::size_t>(1, 2 * leaves_);
  std::vector<ResourceVector> grown(2 * leaves, kNoRoom);
  std::copy_n(most_free_.begin() + static_cast<std::ptrdiff_t>(leaves_), ids_.size(),
              grown.begin() + static_cast<std::ptrdiff_t>(leaves));
  most_free_ = std::move(grown);
  leaves_ = leaves;
  refresh_matches();
}

std::optional<NodeId> NodeRooms::next(NodeId from, std::span<const ResourceVector> demands) const {
  const auto place = std::lower_bound(ids_.begin(), ids_.end(), from);
  if (place == ids_.end() || demands.empty()) return std::nullopt;
  const std::size_t found =
      first_below(kRoot, 0, leaves_, static_cast<std::size_t>(place - ids_.begin()), demands);
  return found == kNone ? std::nullopt : std::optional(ids_[found]);
}

std::size_t NodeRooms::first_below(std::size_t match, std::size_t begin, std::size_t size,
                                   std::size_t from,
                                   std::span<const ResourceVector> demands) const {
  if (begin + size <= from || !fits_one(demands, most_free_[match])) return kNone;
  if (size == 1) return begin;
  const std::size_t half = size / 2;
  const std::size_t left = first_below(2 * match, begin, half, from, demands);
  return left != kNone ? left : first_below(2 * match + 1, begin + half, half, from, demands);
}

bool NodeRooms::has_room(NodeId node, std::span<const ResourceVector> demands) const {
  const std::size_t place = find(node);
  return place != kNone && fits_one(demands, most_free_[leaves_ + place]);
}

}  // namespace fairwater::inline policy::inline allocator
