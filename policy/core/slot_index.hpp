#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace fairwater::inline policy::inline core {

/// Where each key's group is kept. Keys are mostly small and dense; others are hashed.
class SlotIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  [[nodiscard]] std::uint32_t find(std::uint32_t key) const {
    if (key < dense_.size()) return dense_[key];
    if (sparse_.empty()) return kNone;
    const auto found = sparse_.find(key);
    return found == sparse_.end() ? kNone : found->second;
  }
  void set(std::uint32_t key, std::uint32_t slot) {
    if (key >= kDenseKeys) {
      sparse_[key] = slot;
      return;
    }
    if (key >= dense_.size()) dense_.resize(key + std::size_t{1}, kNone);
    dense_[key] = slot;
  }
  void erase(std::uint32_t key) {
    if (key < dense_.size())
      dense_[key] = kNone;
    else
      sparse_.erase(key);
  }

 private:
  static constexpr std::uint32_t kDenseKeys = 1U << 20;
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint32_t, std::uint32_t> sparse_;
};

}  // namespace fairwater::inline policy::inline core
