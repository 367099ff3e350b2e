// What was used.
#pragma once

#include "model/usage.hpp"
#include "schema/fields/field.hpp"

namespace fairwater::inline schema {

template <>
struct Fields<UsedResource> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(low, Low);
    FAIRWATER_FIELD(high, High);
  }
};

template <>
struct Fields<UsageRecord> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(used, Used);
    FAIRWATER_FIELD(succeeded, Succeeded);
    FAIRWATER_FIELD(failed, Failed);
    FAIRWATER_FIELD(cancelled, Cancelled);
    FAIRWATER_FIELD(lost, Lost);
    FAIRWATER_FIELD(submitted, Submitted);
    FAIRWATER_FIELD(first_starts, FirstStarts);
    FAIRWATER_FIELD(waited_ms, WaitedMs);
  }
};

}  // namespace fairwater::inline schema
