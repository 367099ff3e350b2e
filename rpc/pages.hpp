// Answers cut into pages that fit one message (schema/byte_budget.hpp), where the actors answer
// with the whole.
#pragma once

#include "model/calls.hpp"

namespace fairwater::inline rpc {

/// Of the list those after the one with this id; there are more where the list says so, too.
[[nodiscard]] TenantList page_after(TenantList list, TenantId after);
[[nodiscard]] NodeList page_after(NodeList list, NodeId after);

/// The tasks that fit.
[[nodiscard]] JobDetail first_page(JobDetail detail);

/// A ledger should be seen in one piece, as its nets sum to zero: its pages are larger.
[[nodiscard]] LedgerView page_after(const LedgerView& ledger, const LedgerCursor& cursor);
/// Where the next page begins.
[[nodiscard]] LedgerCursor cursor_behind(const LedgerView& ledger);

}  // namespace fairwater::inline rpc
