// A tenant's users in their turns: the order of a window, and what an allocator with late windows
// makes of it.
#include "policy/allocator/user_turns.hpp"

#include <algorithm>
#include <deque>
#include <random>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"

namespace fairwater::test {
namespace {

WindowRange user_range(const std::string& user, std::uint64_t job, std::uint32_t count,
                       Units cost = 1, bool is_gang = false) {
  WindowRange entry;
  entry.range.job = JobId{job};
  entry.range.count = count;
  entry.range.is_gang = is_gang;
  entry.range.user = user;
  entry.starts_at_once = is_gang ? count : 1;
  entry.cost = cost * entry.starts_at_once;
  return entry;
}

/// `1.0-2` for tasks 0 to 2 of job 1.
std::string turns_text(const std::vector<WindowRange>& window) {
  std::string text;
  for (const WindowRange& entry : window) {
    text += (text.empty() ? "" : " ") + std::to_string(entry.range.job.value) + "." +
            std::to_string(entry.range.first_index);
    if (entry.range.count > 1)
      text += "-" + std::to_string(entry.range.first_index + entry.range.count - 1);
  }
  return text;
}

/// Looks at everything for every task.
std::vector<WindowRange> slow_turns(std::vector<WindowRange> window, UserShares users) {
  std::vector<WindowRange> order;
  std::uint64_t served = 0;
  for (const auto& [user, share] : users) served = std::max(served, share.served);
  for (;;) {
    std::map<std::string, std::size_t> first;
    for (std::size_t i = window.size(); i-- > 0;)
      if (window[i].range.count > 0) first[window[i].range.user] = i;
    if (first.empty()) return order;
    auto next = first.begin();
    for (auto other = first.begin(); other != first.end(); ++other) {
      const UserShare& a = users[other->first];
      const UserShare& b = users[next->first];
      if (std::tie(a.held, a.served, other->second) < std::tie(b.held, b.served, next->second))
        next = other;
    }
    WindowRange& from = window[next->second];
    WindowRange taken = from;
    taken.range.count = from.is_gang() ? from.range.count : 1;
    from.range.first_index += taken.range.count;
    from.range.count -= taken.range.count;
    users[next->first].held += from.cost;
    users[next->first].served = ++served;
    order.push_back(taken);
  }
}

std::vector<TaskKey> tasks_of(const std::vector<WindowRange>& window) {
  std::vector<TaskKey> tasks;
  for (const WindowRange& entry : window)
    for (std::uint32_t i = 0; i < entry.range.count; ++i)
      tasks.push_back({entry.range.job, entry.range.first_index + i, 1});
  return tasks;
}

}  // namespace

TEST_CASE("the next task is of the user who holds the least", "[unit][turns]") {
  const std::vector<WindowRange> window{user_range("ada", 1, 4), user_range("bob", 2, 3)};
  CHECK(turns_text(in_turns(window, {})) == "1.0 2.0 1.1 2.1 1.2 2.2 1.3");
  CHECK(turns_text(in_turns(window, {{"ada", {2, 9}}})) == "2.0-1 1.0 2.2 1.1-3");
  CHECK(turns_text(in_turns(window, {{"bob", {2, 9}}})) == "1.0-1 2.0 1.2 2.1 1.3 2.2");
}

TEST_CASE("of two who hold as many comes first who was served longer ago", "[unit][turns]") {
  const std::vector<WindowRange> window{user_range("ada", 1, 2), user_range("bob", 2, 2)};
  CHECK(turns_text(in_turns(window, {{"ada", {3, 8}}, {"bob", {3, 7}}})) == "2.0 1.0 2.1 1.1");
  CHECK(turns_text(in_turns(window, {{"ada", {0, 8}}})) == "2.0 1.0 2.1 1.1");
}

TEST_CASE("units are held, not tasks, and a gang takes all of its units at once", "[unit][turns]") {
  CHECK(turns_text(in_turns({user_range("ada", 1, 2, 4), user_range("bob", 2, 6)}, {})) ==
        "1.0 2.0-3 1.1 2.4-5");
  CHECK(turns_text(in_turns({user_range("ada", 1, 3, 1, true), user_range("bob", 2, 5)}, {})) ==
        "1.0-2 2.0-4");
}

TEST_CASE("one user's tasks stay in their order", "[unit][turns]") {
  const std::vector<WindowRange> window{user_range("", 3, 2), user_range("", 1, 2)};
  CHECK(turns_text(in_turns(window, {})) == "3.0-1 1.0-1");
}

TEST_CASE("turns are what looking at everything gives", "[property][turns]") {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const std::vector<std::string> names{"", "ada", "bob", "eve", "joe"};
  for (int run = 0; run < 300; ++run) {
    INFO("run " << run);
    std::vector<WindowRange> window;
    const std::uint64_t ranges = below(12);
    for (std::uint64_t job = 1; job <= ranges; ++job)
      window.push_back(user_range(names[below(names.size())], job,
                                  static_cast<std::uint32_t>(1 + below(5)),
                                  static_cast<Units>(1 + below(4)), below(5) == 0));
    UserShares users;
    for (const std::string& name : names)
      if (below(2) == 0) users[name] = {static_cast<Units>(below(6)), below(4)};
    CHECK(tasks_of(in_turns(window, users)) == tasks_of(slow_turns(window, users)));
  }
}

namespace {

/// One tenant's users at an allocator whose windows come late.
class SharedTenant {
 public:
  explicit SharedTenant(std::uint64_t seed) : random_(seed), allocator_(default_settings()) {
    allocator_.set_tenant(kTenant, {});
    for (std::uint32_t node = 1; node <= kNodes; ++node)
      allocator_.set_node(NodeId{node}, {}, cpu(static_cast<Amount>(1 + below(4)) * 1000), true);
  }

  void submit() {
    const std::string user = kNames[below(kNames.size())];
    const JobId job{++last_job_};
    const auto tasks = static_cast<std::uint32_t>(1 + below(12));
    for (std::uint32_t index = 0; index < tasks; ++index)
      users_[user].waiting.push_back({job, index, 1});
  }
  /// What the tenant knew when it had seen all deals but the last few.
  void refresh() {
    const std::uint64_t last = allocator_.last_deal();
    const std::uint64_t seen = last - std::min<std::uint64_t>(last, below(3));
    DemandWindow window;
    window.tenant = kTenant;
    window.seen_deal = std::max(seen, last_seen_);
    last_seen_ = window.seen_deal;
    window.takes_turns = true;
    for (auto& [name, user] : users_) {
      user.known.clear();
      std::vector<TaskKey> tasks;
      for (const auto& [deal, task] : user.granted)
        if (deal > window.seen_deal) tasks.push_back(task);
      for (const TaskKey& task : user.waiting) {
        tasks.push_back(task);
        user.known.insert(task);
      }
      for (const TaskKey& task : tasks) {
        WaitingRange range;
        range.job = task.job;
        range.first_index = task.index;
        range.demand = cpu(1000);
        range.user = name;
        window.next.push_back(range);
      }
      window.pending_tasks += tasks.size();
      window.pending += cpu(static_cast<Amount>(tasks.size()) * 1000);
      std::uint64_t served = 0;
      for (const auto& [deal, task] : user.granted)
        if (deal <= window.seen_deal) served = deal;
      window.served[name] = served;
    }
    allocator_.set_window(window);
  }
  void end_some() {
    for (std::uint64_t ends = below(4); ends > 0 && !running_.empty(); --ends) {
      const auto at =
          std::next(running_.begin(), static_cast<std::ptrdiff_t>(below(running_.size())));
      allocator_.release(at->first);
      --users_[at->second].held;
      running_.erase(at);
    }
  }
  /// Every grant goes to whose turn it is.
  void deal() {
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      const auto deal = allocator_.deal(NodeId{node});
      if (!deal) continue;
      for (const Grant& grant : deal->grants) {
        const std::string name = owner_of(grant.task);
        User& user = users_.at(name);
        for (const auto& [other_name, other] : users_) {
          if (other.known.empty() || other_name == name) continue;
          INFO(name << " holds " << user.held << ", " << other_name << " " << other.held);
          CHECK(std::tie(user.held, user.served) <= std::tie(other.held, other.served));
        }
        user.known.erase(grant.task);
        std::erase(user.waiting, grant.task);
        ++user.held;
        user.served = allocator_.last_deal();
        user.granted.emplace_back(allocator_.last_deal(), grant.task);
        running_.emplace(grant.task, name);
        ++granted;
      }
    }
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  std::uint64_t granted = 0;

 private:
  static constexpr TenantId kTenant{1};
  static constexpr std::uint32_t kNodes = 3;
  static inline const std::vector<std::string> kNames{"", "ada", "bob", "eve"};
  struct User {
    std::deque<TaskKey> waiting;
    std::set<TaskKey> known;  ///< to the allocator, of those that wait
    std::vector<std::pair<std::uint64_t, TaskKey>> granted;
    Units held = 0;
    std::uint64_t served = 0;
  };
  [[nodiscard]] std::string owner_of(const TaskKey& task) const {
    for (const auto& [name, user] : users_)
      if (std::find(user.waiting.begin(), user.waiting.end(), task) != user.waiting.end())
        return name;
    FAIL("a task that does not wait was granted");
    return {};
  }

  std::mt19937_64 random_;
  Allocator allocator_;
  std::map<std::string, User> users_;
  std::map<TaskKey, std::string> running_;
  std::uint64_t last_job_ = 0;
  std::uint64_t last_seen_ = 0;
};

}  // namespace

TEST_CASE(
    "nobody is granted a task while another user holds less and waits, however late windows are",
    "[property][turns]") {
  std::uint64_t granted = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    SharedTenant tenant(seed);
    for (int step = 0; step < 120; ++step) {
      switch (tenant.below(4)) {
        case 0:
          tenant.submit();
          break;
        case 1:
          tenant.refresh();
          break;
        default:
          tenant.end_some();
          break;
      }
      tenant.deal();
    }
    granted += tenant.granted;
  }
  CHECK(granted > 3000);
}

}  // namespace fairwater::test
