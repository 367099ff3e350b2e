#include "policy/ledger/loan_caps.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "policy/ledger/proportion.hpp"

namespace fairwater::inline policy::inline ledger {
namespace {

/// The positions of a settlement as a tree: at each group those of its own tenants, and what the
/// groups in it come to.
class PositionTree {
 public:
  PositionTree(TimeSettlement& settlement, const LoanGroups& groups)
      : groups_(groups), lines_(settlement.lines), branches_(groups.size() + 1) {
    for (LoanGroups::Number group = 0; group < groups.size(); ++group)
      branch(groups.around(group)).groups.push_back(group);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].position == 0) continue;
      Branch& own = branch_of(lines_[i]);
      own.lines.push_back(i);
      own.position += lines_[i].position;
    }
    for (LoanGroups::Number group = groups.size(); group-- > 0;) {
      Branch& own = branches_[group];
      own.most = std::max<Units>(own.position, 0);
      own.least = std::min<Units>(own.position, 0);
      branch(groups.around(group)).position += own.position;
    }
  }

  void set(TimeLine& line, Units position) {
    line.beyond_cap = line.position - position;
    line.position = position;
    for (auto group = groups_.innermost(line.tenant); group != LoanGroups::kNone;
         group = groups_.around(group))
      branches_[group].position -= line.beyond_cap;
    branches_.back().position -= line.beyond_cap;
  }

  void make_even() {
    for (LoanGroups::Number group = groups_.size(); group-- > 0;) {
      const Branch& own = branches_[group];
      const Units excess = own.position - std::clamp(own.position, own.least, own.most);
      for (auto around = groups_.around(group); around != LoanGroups::kNone;
           around = groups_.around(around))
        branches_[around].position -= excess;
      branches_.back().position -= excess;
      cut(group, excess);
    }
    cut(branches_.size() - 1, branches_.back().position);
  }

 private:
  struct Branch {
    std::vector<std::size_t> lines;
    std::vector<LoanGroups::Number> groups;
    Units position = 0;
    Units most = 0;  ///< before anything is cut, or nothing
    Units least = 0;
  };
  Branch& branch(LoanGroups::Number group) {
    return group == LoanGroups::kNone ? branches_.back() : branches_[group];
  }

  Branch& branch_of(const TimeLine& line) { return branch(groups_.innermost(line.tenant)); }

  /// Takes `excess` off the branch's position, of which it is a part.
  void cut(std::size_t number, Units excess) {
    if (excess == 0) return;
    Branch& whole = branches_[number];
    const auto is_on_that_side = [&](Units position) {
      return position != 0 && (position > 0) == (excess > 0);
    };
    Units all = 0;
    for (const std::size_t line : whole.lines)
      if (is_on_that_side(lines_[line].position)) all += std::abs(lines_[line].position);
    for (const LoanGroups::Number group : whole.groups)
      if (is_on_that_side(branches_[group].position)) all += std::abs(branches_[group].position);
    Proportion parts(std::abs(excess), all);
    const auto part_of = [&](Units position) {
      return parts.next(std::abs(position)) * (excess > 0 ? 1 : -1);
    };
    for (const std::size_t line : whole.lines) {
      if (!is_on_that_side(lines_[line].position)) continue;
      const Units part = part_of(lines_[line].position);
      lines_[line].position -= part;
      lines_[line].beyond_cap += part;
    }
    for (const LoanGroups::Number group : whole.groups)
      if (is_on_that_side(branches_[group].position))
        cut(group, part_of(branches_[group].position));
    whole.position -= excess;
  }

  const LoanGroups& groups_;
  std::vector<TimeLine>& lines_;
  std::vector<Branch> branches_;  ///< by group; the last is around all
};

}  // namespace

void cap_loans(TimeSettlement& settlement, const std::function<LoanRoom(TenantId)>& room,
               const LoanGroups& groups) {
  PositionTree positions(settlement, groups);
  for (TimeLine& line : settlement.lines) {
    if (line.position == 0) continue;
    const LoanRoom most = room(line.tenant);
    positions.set(line, std::clamp(line.position, -most.borrow, most.lend));
  }
  positions.make_even();
}

}  // namespace fairwater::inline policy::inline ledger
