// How many members a struct has, for lists that must not forget one.
#pragma once

#include <cstddef>

namespace fairwater::inline model {

namespace members {

struct Any {
  template <class Type>
  operator Type() const;  // NOLINT(google-explicit-constructor): stands for every member
};

template <class Aggregate, class... Members>
constexpr std::size_t count() {
  if constexpr (requires { Aggregate{Members{}..., Any{}}; })
    return count<Aggregate, Members..., Any>();
  else
    return sizeof...(Members);
}

}  // namespace members

/// Of an aggregate; a base class counts as one. While compiling only.
template <class Aggregate>
inline constexpr std::size_t kMembers = members::count<Aggregate>();

}  // namespace fairwater::inline model
