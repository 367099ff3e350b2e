// A value that its copies share: for what is large and the same in many messages.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

namespace fairwater::inline model {

/// Reads like a const `Value`; copying is O(1). Two are equal when their values are.
template <class Value>
class SharedValue {
 public:
  SharedValue() = default;
  // A value stands for itself, as where the member is a plain one.
  SharedValue(Value value) : value_(std::make_shared<Value>(std::move(value))) {}  // NOLINT
  SharedValue(std::initializer_list<typename Value::value_type> items)
      : SharedValue(Value(items)) {}

  [[nodiscard]] const Value& operator*() const { return value_ ? *value_ : none(); }
  [[nodiscard]] const Value* operator->() const { return &**this; }
  [[nodiscard]] auto begin() const { return (**this).begin(); }
  [[nodiscard]] auto end() const { return (**this).end(); }
  [[nodiscard]] bool empty() const { return (**this).empty(); }
  /// To be changed: apart from copies, which keep what they have.
  [[nodiscard]] Value& change() {
    if (!value_)
      value_ = std::make_shared<Value>();
    else if (value_.use_count() > 1)
      value_ = std::make_shared<Value>(*value_);
    return *value_;
  }
  /// Whether both are one in memory.
  [[nodiscard]] bool is_copy_of(const SharedValue& other) const { return value_ == other.value_; }

  friend bool operator==(const SharedValue& a, const SharedValue& b) {
    return a.value_ == b.value_ || *a == *b;
  }

 private:
  static const Value& none() {
    static const Value value;
    return value;
  }
  std::shared_ptr<Value> value_;  ///< null: an empty one
};

}  // namespace fairwater::inline model
