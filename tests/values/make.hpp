// Values of any type that has a field list (schema/fields/), member by member, as a source draws
// them: `Samples` for fixed ones that differ from the default in every member, tests/values/any.hpp
// for random ones.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "model/requests.hpp"
#include "schema/fields/cluster.hpp"
#include "schema/fields/convert.hpp"
#include "schema/fields/deal.hpp"
#include "schema/fields/job.hpp"
#include "schema/fields/journal.hpp"

namespace fairwater::test {

template <class Source>
class Maker {
 public:
  explicit Maker(Source& source) : source_(source) {}

  template <class Value>
  [[nodiscard]] Value make() {
    Value value{};
    fill(value);
    return value;
  }

  /// Replaces the member's default.
  template <class Member>
  void fill(Member& member) {
    if constexpr (std::is_enum_v<Member>) {
      const int first = std::is_same_v<Member, GrantStep> ? 1 : 0;
      member = static_cast<Member>(source_.choose(first, static_cast<int>(EnumLast<Member>::value),
                                                  static_cast<int>(member)));
    } else if constexpr (std::is_same_v<Member, bool>) {
      member = source_.choose(0, 1, member ? 1 : 0) == 1;
    } else if constexpr (std::is_arithmetic_v<Member>) {
      member = source_.template number<Member>();
    } else if constexpr (fields::is_strong_id<Member>) {
      fill(member.value);
    } else if constexpr (std::is_same_v<Member, WallTime>) {
      fill(member.microseconds);
    } else if constexpr (std::is_same_v<Member, std::string>) {
      member = source_.text();
    } else if constexpr (fields::is_bytes<Member>) {
      for (auto& byte : member) fill(byte);
    } else if constexpr (std::is_same_v<Member, ResourceVector>) {
      for (std::size_t left = source_.size(kMaxResources); left > 0; --left) fill(member[left - 1]);
    } else if constexpr (fields::is_shared<Member>) {
      fill(member.change());
    } else if constexpr (fields::is_optional<Member>) {
      if (source_.choose(0, 1, 0) == 1) fill(member.emplace());
    } else if constexpr (fields::is_vector<Member>) {
      member.resize(source_.size(3));
      for (auto& element : member) fill(element);
    } else if constexpr (fields::is_map<Member>) {
      for (std::size_t left = source_.size(3); left > 0; --left)
        member[make<typename Member::key_type>()] = make<typename Member::mapped_type>();
    } else if constexpr (std::is_same_v<Member, JournalBody>) {
      int left = source_.choose(0, static_cast<int>(std::variant_size_v<JournalBody>) - 1, 0);
      each_body([&](const auto& kind) {
        if (left-- == 0) member = make<typename std::decay_t<decltype(kind)>::Value>();
      });
    } else {
      Fields<Member>::each([&](const auto& field) { fill(field.of(member)); });
      // What these have beside their lists.
      if constexpr (std::is_same_v<Member, JournalRecord>) fill(member.body);
      if constexpr (std::is_same_v<Member, JobQuery>) fill(member.state);
    }
  }

 private:
  Source& source_;
};

/// Counts on, so that no two members of a value are alike.
class Samples {
 public:
  [[nodiscard]] int choose(int first, int last, int is) { return is == last ? first : last; }
  template <class Number>
  [[nodiscard]] Number number() {
    return static_cast<Number>(count_ += 7);
  }
  [[nodiscard]] std::string text() { return "text-" + std::to_string(count_ += 7); }
  [[nodiscard]] std::size_t size(std::size_t) { return 2; }

 private:
  std::int64_t count_ = 1'000'000;
};

/// Always the same, and with every member set.
template <class Value>
[[nodiscard]] Value sample() {
  Samples samples;
  return Maker<Samples>(samples).template make<Value>();
}

}  // namespace fairwater::test
