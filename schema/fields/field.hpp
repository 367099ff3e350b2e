// The language of the field lists: what a value type has in common with its wire struct, said once.
//
// Each struct that leaves the process has one list, a specialisation of Fields. Encoding and
// reading (schema/fields/convert.hpp) and the tests' values (tests/values/make.hpp) follow
// from it:
//
//   template <>
//   struct Fields<Loan> {
//     template <class Visit>
//     static constexpr void each(Visit&& visit) {
//       FAIRWATER_FIELD(lender, Lender);
//       FAIRWATER_FIELD(borrower, Borrower);
//       FAIRWATER_FIELD(units, Units);
//     }
//   };
//
// A list may have beside it
//   using Base = ..                  the type is an aggregate with this base class
//   kUnlistedMembers                 how many members do not travel by the list, besides `caller`
//   put_rest(value, builder)         writes what a list cannot say (unions)
//   take_rest(value, reader)         reads it, or checks what was read (throws MalformedRecord)
//
// A member that is in no list does not compile; a field of the schema that is in none fails a test.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "model/members.hpp"

namespace fairwater::inline schema {

/// The list of a type; see above.
template <class Value>
struct Fields;

struct FieldRule {
  /// The pointer stays null where the member is at its default: what writers that did not know the
  /// field wrote, byte for byte.
  bool sparse = false;
  /// Of each element, for a list that a peer sent: it may announce any number of elements, and each
  /// becomes a value of its full size. 0: not checked.
  std::size_t min_words = 0;
};

/// One member and the accessors of its wire field.
template <FieldRule kRule, class Of, class Get, class Set, class Init, class Has>
struct WireField {
  static constexpr FieldRule rule = kRule;
  std::string_view member;  ///< as the list names it: `run.starts`
  std::string_view wire;    ///< as the accessors have it: `RunStarts`
  Of of;
  Get get;
  Set set;
  Init init;
  Has has;
  std::string_view said_as = {};  ///< in errors; empty: as the schema has it

  /// The same, called so in errors.
  [[nodiscard]] constexpr WireField called(std::string_view words) const {
    WireField field = *this;
    field.said_as = words;
    return field;
  }
  [[nodiscard]] std::string name_in_errors() const {
    return said_as.empty() ? name() : std::string(said_as);
  }
  /// As the schema has it: `runStarts`.
  [[nodiscard]] std::string name() const {
    std::string text(wire);
    text.front() = static_cast<char>(text.front() - 'A' + 'a');
    return text;
  }
};

template <FieldRule kRule, class... Parts>
constexpr auto make_field(std::string_view member, std::string_view wire, Parts... parts) {
  return WireField<kRule, Parts...>{member, wire, parts...};
}

// The accessors of a field exist or not by its kind; unused lambdas are never instantiated.
#define FAIRWATER_MADE_FIELD(member, Name, ...)                              \
  ::fairwater::make_field<::fairwater::FieldRule __VA_ARGS__>(               \
      #member, #Name, [](auto& owner) -> auto& { return owner.member; },     \
      [](const auto& source) { return source.get##Name(); },                 \
      [](auto& target, const auto& raw) { target.set##Name(raw); },          \
      [](auto& target, auto... size) { return target.init##Name(size...); }, \
      [](const auto& source) { return source.has##Name(); })
#define FAIRWATER_RULED_FIELD(member, Name, ...) \
  visit(FAIRWATER_MADE_FIELD(member, Name, __VA_ARGS__))
#define FAIRWATER_FIELD(member, Name) FAIRWATER_RULED_FIELD(member, Name, {})
#define FAIRWATER_SPARSE_FIELD(member, Name) FAIRWATER_RULED_FIELD(member, Name, {.sparse = true})
/// For what all other errors call by another name than the schema does.
#define FAIRWATER_FIELD_CALLED(member, Name, words) \
  visit(FAIRWATER_MADE_FIELD(member, Name, {}).called(words))
#define FAIRWATER_PEER_LIST(member, Name, words) \
  FAIRWATER_RULED_FIELD(member, Name, {.min_words = words})

/// The highest value that both sides know of an enumeration; they number it alike from 0.
template <class Enum>
struct EnumLast;

// -- whether a list has every member

namespace fields {

/// A request's `caller` never travels: the connection knows it.
template <class Value>
constexpr std::size_t members_of() {
  std::size_t count = kMembers<Value>;
  if constexpr (requires(Value value) { value.caller; }) --count;
  if constexpr (requires { typename Fields<Value>::Base; })
    count += kMembers<typename Fields<Value>::Base> - 1;
  if constexpr (requires { Fields<Value>::kUnlistedMembers; })
    count -= Fields<Value>::kUnlistedMembers;
  return count;
}

/// `run.starts` and `run.id` are one member.
template <class Value>
constexpr std::size_t listed_members() {
  std::array<std::string_view, 64> names{};
  std::size_t count = 0;
  Fields<Value>::each([&](const auto& field) {
    const auto name = field.member.substr(0, field.member.find('.'));
    for (std::size_t i = 0; i < count; ++i)
      if (names[i] == name) return;
    names[count++] = name;
  });
  return count;
}

}  // namespace fields
}  // namespace fairwater::inline schema
