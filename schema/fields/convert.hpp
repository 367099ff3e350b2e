// Encoding and reading by field list: how a member of each kind of type stands on the wire.
//
//   number, bool        the same             StrongId, WallTime   their number
//   enumeration         by number, checked   ResourceVector       List(Int64), no trailing zeros
//   string              Text or Data         array of bytes       Data of exactly that length
//   vector, map         List                 optional             null pointer, or data of length 0
//   struct              by its own list, or by an encode() and read() of codec.hpp
//   shared value        as the value
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <capnp/any.h>

#include "model/text.hpp"
#include "schema/codec.hpp"
#include "schema/fields/field.hpp"

namespace fairwater::inline schema {

/// The fields of a map's entry, a pair, by the wire struct that holds it; `refuse_repeated(list,
/// key)` throws MalformedRecord for a key that comes twice in that field.
template <class Wire>
struct EntryFields;

template <class Value, class Builder>
void encode_fields(const Value& value, Builder builder);
template <class Value, class Reader>
[[nodiscard]] Value read_fields(const Reader& reader);

namespace fields {

template <class Type>
inline constexpr bool is_strong_id = false;
template <class Tag, class Rep>
inline constexpr bool is_strong_id<StrongId<Tag, Rep>> = true;
template <class Type>
inline constexpr bool is_optional = false;
template <class Type>
inline constexpr bool is_optional<std::optional<Type>> = true;
template <class Type>
inline constexpr bool is_vector = false;
template <class Type>
inline constexpr bool is_vector<std::vector<Type>> = true;
template <class Type>
inline constexpr bool is_map = false;
template <class Key, class Value>
inline constexpr bool is_map<std::map<Key, Value>> = true;
template <class Type>
inline constexpr bool is_shared = false;
template <class Value>
inline constexpr bool is_shared<SharedValue<Value>> = true;
template <class Type>
inline constexpr bool is_bytes = false;
template <std::size_t kSize>
inline constexpr bool is_bytes<std::array<std::uint8_t, kSize>> = true;
template <class Type>
inline constexpr bool is_plain = std::is_arithmetic_v<Type> || std::is_enum_v<Type> ||
                                 is_strong_id<Type> || std::is_same_v<Type, WallTime>;

/// The wire struct that a list's builder or reader holds.
template <class List>
using ElementOf = typename decltype(std::declval<List&>()[0])::Builds;
template <class List>
using ElementRead = typename decltype(std::declval<List&>()[0])::Reads;

/// A number, id, time or enumerant as its field holds it.
template <class Raw, class Plain>
Raw to_raw(const Plain& value) {
  if constexpr (is_strong_id<Plain>)
    return value.value;
  else if constexpr (std::is_same_v<Plain, WallTime>)
    return value.microseconds;
  else if constexpr (std::is_enum_v<Plain>)
    return static_cast<Raw>(static_cast<std::uint16_t>(value));
  else
    return value;
}

/// Number of amounts to store.
inline std::size_t stored_size(const ResourceVector& vector) {
  std::size_t size = kMaxResources;
  while (size > 0 && vector[size - 1] == 0) --size;
  return size;
}

template <class Member, class FieldType, class Builder>
void put(const Member& member, const FieldType& field, Builder& builder);

/// Fills a fresh list.
template <class Items, class List>
void put_list(const Items& items, List list) {
  unsigned i = 0;
  for (const auto& item : items) {
    using Item = std::decay_t<decltype(item)>;
    if constexpr (is_map<Items>) {
      auto entry = list[i];
      EntryFields<ElementOf<List>>::each(
          [&](const auto& field) { put(field.of(item), field, entry); });
    } else if constexpr (std::is_same_v<Item, std::string>) {
      list.set(i, to_text(item));
    } else if constexpr (is_plain<Item>) {
      list.set(i, to_raw<std::decay_t<decltype(list[i])>>(item));
    } else {
      encode(item, list[i]);
    }
    ++i;
  }
}

/// Writes one member into its field.
template <class Member, class FieldType, class Builder>
void put(const Member& member, const FieldType& field, Builder& builder) {
  if constexpr (FieldType::rule.sparse)
    if (member == Member{}) return;
  if constexpr (is_optional<Member>) {
    if (member) put(*member, field, builder);
  } else if constexpr (is_shared<Member>) {
    put(*member, field, builder);
  } else if constexpr (is_plain<Member>) {
    using Raw = std::decay_t<decltype(field.get(builder.asReader()))>;
    field.set(builder, to_raw<Raw>(member));
  } else if constexpr (std::is_same_v<Member, std::string>) {
    if constexpr (std::is_same_v<decltype(field.get(builder.asReader())), capnp::Data::Reader>)
      field.set(builder, capnp::Data::Reader(reinterpret_cast<const capnp::byte*>(member.data()),
                                             member.size()));
    else
      field.set(builder, to_text(member));
  } else if constexpr (is_bytes<Member>) {
    field.set(builder, capnp::Data::Reader(member.data(), member.size()));
  } else if constexpr (std::is_same_v<Member, ResourceVector>) {
    auto list = field.init(builder, static_cast<unsigned>(stored_size(member)));
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, member[i]);
  } else if constexpr (is_vector<Member> || is_map<Member>) {
    put_list(member, field.init(builder, static_cast<unsigned>(member.size())));
  } else {
    encode(member, field.init(builder));
  }
}

/// Throw MalformedRecord.
[[noreturn]] void refuse(const std::string& field, const std::string& what);
[[noreturn]] void refuse_enumerant(const std::string& field, std::uint16_t number);

template <class Enum, class Wire>
[[nodiscard]] bool is_known(Wire enumerant) {
  return static_cast<std::uint16_t>(enumerant) <= static_cast<std::uint16_t>(EnumLast<Enum>::value);
}

/// Throws when elements have fewer words than `min_words`.
template <class List>
void require_words(List list, std::size_t min_words) {
  if (min_words == 0 || list.size() == 0) return;
  const capnp::AnyStruct::Reader first(list[0]);
  const auto words =
      first.getDataSection().size() / sizeof(capnp::word) + first.getPointerSection().size();
  if (words < min_words)
    throw MalformedRecord("", "a list announces " + std::to_string(list.size()) + " elements of " +
                                  std::to_string(words) + " words; each has at least " +
                                  std::to_string(min_words));
}

template <class Member, class FieldType, class Reader>
void take(Member& member, const FieldType& field, const Reader& reader);

template <class Map, class List>
Map take_map(List list, const std::string& name) {
  Map map;
  for (auto element : list) {
    std::pair<typename Map::key_type, typename Map::mapped_type> entry;
    using Entry = EntryFields<ElementRead<List>>;
    Entry::each([&](const auto& field) { take(field.of(entry), field, element); });
    if (!map.insert(entry).second) Entry::refuse_repeated(name, entry.first);
  }
  return map;
}

/// What a field's or an element's raw value is as a value. `field` names it in errors.
template <class Value, class Raw, class FieldType>
Value from_raw(const Raw& raw, const FieldType& field) {
  if constexpr (std::is_enum_v<Value>) {
    if (!is_known<Value>(raw))
      refuse_enumerant(field.name_in_errors(), static_cast<std::uint16_t>(raw));
    return static_cast<Value>(raw);
  } else if constexpr (is_strong_id<Value> || std::is_same_v<Value, WallTime>) {
    return Value{raw};
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return raw;
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return {reinterpret_cast<const char*>(raw.begin()), raw.size()};
  } else if constexpr (is_bytes<Value>) {
    Value bytes{};
    if (raw.size() != bytes.size())
      refuse(field.name_in_errors(), " has " + std::to_string(raw.size()) + " bytes instead of " +
                                         std::to_string(bytes.size()));
    std::copy(raw.begin(), raw.end(), bytes.begin());
    return bytes;
  } else if constexpr (std::is_same_v<Value, ResourceVector>) {
    if (raw.size() > kMaxResources)
      refuse(field.name_in_errors(),
             " has " + std::to_string(raw.size()) + " amounts; at most 8 resources are known");
    ResourceVector vector;
    for (unsigned i = 0; i < raw.size(); ++i) vector[i] = raw[i];
    return vector;
  } else if constexpr (is_map<Value>) {
    return take_map<Value>(raw, field.name_in_errors());
  } else if constexpr (is_vector<Value>) {
    Value values;
    if constexpr (FieldType::rule.min_words > 0) {
      require_words(raw, FieldType::rule.min_words);
      values.reserve(raw.size());
    }
    for (const auto element : raw)
      values.push_back(from_raw<typename Value::value_type>(element, field));
    return values;
  } else if constexpr (requires {
                         { read(raw) } -> std::same_as<Value>;
                       }) {
    return read(raw);
  } else {
    return read_fields<Value>(raw);
  }
}

/// Reads one member from its field.
template <class Member, class FieldType, class Reader>
void take(Member& member, const FieldType& field, const Reader& reader) {
  if constexpr (is_optional<Member>) {
    using Value = typename Member::value_type;
    if constexpr (is_bytes<Value>) {
      if (field.get(reader).size() > 0) member = from_raw<Value>(field.get(reader), field);
    } else {
      if (field.has(reader)) member = from_raw<Value>(field.get(reader), field);
    }
  } else if constexpr (is_shared<Member>) {
    take(member.change(), field, reader);
  } else {
    if constexpr (FieldType::rule.sparse)
      if (!field.has(reader)) return;
    member = from_raw<Member>(field.get(reader), field);
  }
}

}  // namespace fields

/// Fills a fresh builder by the value's list.
template <class Value, class Builder>
void encode_fields(const Value& value, Builder builder) {
  static_assert(fields::listed_members<Value>() == fields::members_of<Value>(),
                "a member is missing in the type's field list");
  Fields<Value>::each([&](const auto& field) { fields::put(field.of(value), field, builder); });
  if constexpr (requires { Fields<Value>::put_rest(value, builder); })
    Fields<Value>::put_rest(value, builder);
}

/// The value by its list; what the reader does not have stays as a fresh value has it.
template <class Value, class Reader>
Value read_fields(const Reader& reader) {
  Value value;
  Fields<Value>::each([&](const auto& field) { fields::take(field.of(value), field, reader); });
  if constexpr (requires { Fields<Value>::take_rest(value, reader); })
    Fields<Value>::take_rest(value, reader);
  return value;
}

/// For types that have a list and no encode() of their own; those are preferred.
template <class Value, class Builder>
requires requires { sizeof(Fields<Value>); }
void encode(const Value& value, Builder builder) { encode_fields(value, builder); }

// -- maps

template <>
struct EntryFields<wire::KeyValue> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(first, Key);
    FAIRWATER_FIELD(second, Value);
  }
  [[noreturn]] static void refuse_repeated(const std::string& list, const std::string& key) {
    throw MalformedRecord(list + "." + key,
                          fairwater::quoted(key) + " is given twice; write it once");
  }
};

template <>
struct EntryFields<wire::NamedAmount> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(first, Name);
    FAIRWATER_FIELD(second, Amount);
  }
  [[noreturn]] static void refuse_repeated(const std::string& list, const std::string& name) {
    throw MalformedRecord(list + "." + name,
                          "resource " + fairwater::quoted(name) + " is given twice; write it once");
  }
};

}  // namespace fairwater::inline schema

// Defines what FAIRWATER_CODEC of codec.hpp declares.
#define FAIRWATER_DEFINE_CODEC_AS(Value, Wire)                                              \
  void encode(const Value& value, Wire::Builder builder) { encode_fields(value, builder); } \
  Value read(Wire::Reader reader) { return read_fields<Value>(reader); }
#define FAIRWATER_DEFINE_CODEC(Value) FAIRWATER_DEFINE_CODEC_AS(Value, wire::Value)
