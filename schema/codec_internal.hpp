// Helpers that the codec's source files share.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "schema/codec.hpp"

namespace fairwater::codec {

/// An enumerant by its number; the numbers are the same on both sides. `last` is the highest known.
template <class Value, class Wire>
Value checked_enum(Wire wire, Value last, std::string_view field) {
  const auto number = static_cast<std::uint16_t>(wire);
  if (number > static_cast<std::uint16_t>(last))
    throw MalformedRecord(std::string(field),
                          std::string(field) + " has the unknown value " + std::to_string(number));
  return static_cast<Value>(number);
}

template <class Wire, class Value>
Wire wire_enum(Value value) {
  return static_cast<Wire>(static_cast<std::uint16_t>(value));
}

inline capnp::Data::Reader hash_data(const std::array<std::uint8_t, 32>& hash) {
  return {hash.data(), hash.size()};
}

/// Number of amounts to store: trailing zeros are left out.
inline std::size_t stored_size(const ResourceVector& vector) {
  std::size_t size = kMaxResources;
  while (size > 0 && vector[size - 1] == 0) --size;
  return size;
}

inline void encode_vector(const ResourceVector& vector,
                          capnp::List<std::int64_t>::Builder builder) {
  for (std::size_t i = 0; i < builder.size(); ++i) builder.set(i, vector[i]);
}

inline ResourceVector read_vector(capnp::List<std::int64_t>::Reader reader,
                                  std::string_view field) {
  if (reader.size() > kMaxResources)
    throw MalformedRecord(std::string(field), std::string(field) + " has " +
                                                  std::to_string(reader.size()) +
                                                  " amounts; at most 8 resources are known");
  ResourceVector vector;
  for (std::size_t i = 0; i < reader.size(); ++i) vector[i] = reader[i];
  return vector;
}

}  // namespace fairwater::codec
