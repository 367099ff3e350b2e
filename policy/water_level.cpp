#include <map>
#include <utility>

#include "policy/check.hpp"
#include "policy/water_fill.hpp"

namespace fairwater {

class WaterLevel::Impl {
 public:
  void set_capacity(Amount capacity) {
    capacity_ = capacity;
    filled_ = false;
  }
  [[nodiscard]] Amount capacity() const { return capacity_; }
  void set(Key key, const QuotaGroup& group) {
    groups_[key] = group;
    filled_ = false;
  }
  void set_request(Key key, Amount request) {
    groups_.at(key).request = request;
    filled_ = false;
  }
  void erase(Key key) {
    groups_.erase(key);
    filled_ = false;
  }
  [[nodiscard]] bool contains(Key key) const { return groups_.count(key) != 0; }
  [[nodiscard]] const QuotaGroup& group(Key key) const { return groups_.at(key); }
  [[nodiscard]] Amount runtime(Key key) const {
    fill();
    return runtime_.at(key);
  }
  [[nodiscard]] std::optional<WaterMark> level() const {
    fill();
    return level_;
  }

 private:
  void fill() const {
    if (filled_) return;
    std::vector<QuotaGroup> groups;
    for (const auto& [key, group] : groups_) groups.push_back(group);
    const WaterFillResult result = water_fill(capacity_, groups);
    std::size_t i = 0;
    for (const auto& [key, group] : groups_) runtime_[key] = result.runtime[i++];
    level_ = result.level;
    filled_ = true;
  }

  Amount capacity_ = 0;
  std::map<Key, QuotaGroup> groups_;
  mutable std::map<Key, Amount> runtime_;
  mutable std::optional<WaterMark> level_;
  mutable bool filled_ = false;
};

WaterLevel::WaterLevel() : impl_(std::make_unique<Impl>()) {}
WaterLevel::WaterLevel(const WaterLevel& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
WaterLevel::WaterLevel(WaterLevel&&) noexcept = default;
WaterLevel& WaterLevel::operator=(const WaterLevel& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
WaterLevel& WaterLevel::operator=(WaterLevel&&) noexcept = default;
WaterLevel::~WaterLevel() = default;

void WaterLevel::set_capacity(Amount capacity) { impl_->set_capacity(capacity); }
Amount WaterLevel::capacity() const { return impl_->capacity(); }
void WaterLevel::set(Key key, const QuotaGroup& group) { impl_->set(key, group); }
void WaterLevel::set_request(Key key, Amount request) { impl_->set_request(key, request); }
void WaterLevel::erase(Key key) { impl_->erase(key); }
bool WaterLevel::contains(Key key) const { return impl_->contains(key); }
const QuotaGroup& WaterLevel::group(Key key) const { return impl_->group(key); }
Amount WaterLevel::runtime(Key key) const { return impl_->runtime(key); }
std::optional<WaterMark> WaterLevel::level() const { return impl_->level(); }

}  // namespace fairwater
