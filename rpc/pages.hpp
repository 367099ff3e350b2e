// Answers cut into pages that fit one message (schema/byte_budget.hpp), where the actors answer
// with the whole.
#pragma once

#include <algorithm>
#include <vector>

#include "model/calls.hpp"
#include "rpc/wire.hpp"
#include "schema/byte_budget.hpp"

namespace fairwater {

template <class Value>
struct Page {
  std::vector<Value> values;
  bool more = false;
};

/// Of records in the order of their ids: those after the one with this id.
template <class Wire, class Value, class Id>
[[nodiscard]] Page<Value> page_after(const std::vector<Value>& all, Id after) {
  const auto begin = std::partition_point(
      all.begin(), all.end(), [after](const Value& value) { return !(after < value.record.id); });
  const auto first = static_cast<std::size_t>(begin - all.begin());
  const auto count = count_fitting<Wire>(all, first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  return {{begin, end}, end != all.end()};
}

/// The tasks that fit.
[[nodiscard]] JobDetail first_page(JobDetail detail);

/// A ledger should be seen in one piece, as its nets sum to zero: its pages are larger.
[[nodiscard]] LedgerView page_after(const LedgerView& ledger, const LedgerCursor& cursor);
/// Where the next page begins.
[[nodiscard]] LedgerCursor cursor_behind(const LedgerView& ledger);

}  // namespace fairwater
