// The sequence against the order written out slot by slot, and against its definition where the
// order is too long to write.
#include "policy/sequence/sequence.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;
using Counts = std::map<Sequence::Member, std::uint64_t>;

struct ModelMember {
  Sequence::Member member;
  std::uint64_t weight;
  int joined;
};

/// The same rules, with the whole period written out.
class WrittenOut {
 public:
  explicit WrittenOut(Sequence::Method method) : method_(method) {}

  void join(Sequence::Member member, std::uint64_t weight, int joined) {
    position += used(weight);
    add(member, weight, joined);
    write_out();
  }
  /// Of many members; write_out() follows when all are there.
  void add(Sequence::Member member, std::uint64_t weight, int joined) {
    cycle += weight;
    members_.push_back({member, weight, joined});
  }
  void leave(Sequence::Member member) {
    const auto found = find(member);
    position -= used(found->weight);
    cycle -= found->weight;
    position = cycle == 0 ? 0 : position % cycle;
    members_.erase(found);
    write_out();
  }
  void reweigh(Sequence::Member member, std::uint64_t weight) {
    const int joined = find(member)->joined;
    leave(member);
    join(member, weight, joined);
  }
  Counts advance(std::uint64_t slots) {
    Counts counts;
    for (std::uint64_t i = 0; i < slots; ++i) ++counts[next()];
    return counts;
  }
  Counts rollback(std::uint64_t slots) {
    Counts counts;
    for (std::uint64_t i = 0; i < slots; ++i) {
      position = (position + cycle - 1) % cycle;
      ++counts[order_[position]];
    }
    return counts;
  }
  Sequence::Member next() {
    const Sequence::Member member = order_[position];
    position = (position + 1) % cycle;
    return member;
  }
  [[nodiscard]] std::vector<Sequence::Member> ranked() const {
    std::vector<Sequence::Member> ranks;
    for (const ModelMember& m : members_) ranks.push_back(m.member);
    return ranks;
  }

  void write_out() {
    std::sort(members_.begin(), members_.end(), [](const ModelMember& a, const ModelMember& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.joined < b.joined;
    });
    order_.clear();
    const bool deficit = method_ == Sequence::Method::max_deficit;
    std::vector<std::uint64_t> r(members_.size());
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = deficit ? members_[i].weight : 0;
    while (order_.size() < cycle) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < r.size(); ++i) {
        const std::uint64_t w = members_[i].weight;
        const std::uint64_t best_w = members_[best].weight;
        if (deficit ? (r[best] == 0 || (r[i] > 0 && (r[i] - 1) * best_w >= (r[best] - 1) * w))
                    : r[i] * best_w < r[best] * w)
          best = i;
      }
      deficit ? --r[best] : ++r[best];
      order_.push_back(members_[best].member);
    }
  }

  std::uint64_t position = 0;
  std::uint64_t cycle = 0;

 private:
  std::vector<ModelMember>::iterator find(Sequence::Member member) {
    return std::find_if(members_.begin(), members_.end(),
                        [&](const ModelMember& m) { return m.member == member; });
  }
  [[nodiscard]] std::uint64_t used(std::uint64_t weight) const {
    return cycle == 0 ? 0 : (2 * position * weight + cycle) / (2 * cycle);
  }

  Sequence::Method method_;
  std::vector<ModelMember> members_;
  std::vector<Sequence::Member> order_;
};

Counts as_map(const std::vector<Sequence::Count>& counts) {
  Counts result;
  for (const auto& count : counts) {
    CHECK(count.slots > 0);
    CHECK(result.emplace(count.member, count.slots).second);
  }
  return result;
}

Sequence::Method draw_method() {
  return draw(0, 1) == 0 ? Sequence::Method::max_deficit : Sequence::Method::min_ratio;
}

std::string written(Sequence& sequence, int slots) {
  std::string order;
  for (int i = 0; i < slots; ++i) order += static_cast<char>('A' + sequence.next());
  return order;
}

TEST_CASE("The paper's example deals A B A A B A B A", "[unit][sequence]") {
  Sequence sequence;
  sequence.join(0, 5);
  sequence.join(1, 3);
  CHECK(written(sequence, 16) == "ABAABABAABAABABA");
}

TEST_CASE("The minimum-ratio method is the mirror image", "[unit][sequence]") {
  Sequence sequence(Sequence::Method::min_ratio);
  sequence.join(0, 5);
  sequence.join(1, 3);
  CHECK(written(sequence, 8) == "ABABAABA");
}

TEST_CASE("A position at the end of what remains is its start", "[unit][sequence]") {
  Sequence sequence;
  sequence.join(0, 9);
  sequence.join(1, 1);
  sequence.set_position(9);
  const Sequence::Change change = sequence.leave(0);
  CHECK(change.used == 8);
  CHECK(change.position == 0);
  CHECK(change.cycle == 1);
}

TEST_CASE("Windows, slots, joins, leaves and weights agree with the written order",
          "[property][sequence]") {
  check_property("sequence against the written order", 10'000, [] {
    const Sequence::Method method = draw_method();
    Sequence sequence(method);
    WrittenOut model(method);
    std::vector<Sequence::Member> present;
    int joined = 0;
    const int largest_weight = draw(1, 3) == 1 ? 3 : 40;
    const int steps = draw(1, 25);
    for (int step = 0; step < steps; ++step) {
      const int what = present.empty() ? 0 : draw(0, 9);
      if (what <= 1 && present.size() < 7) {
        const auto member = static_cast<Sequence::Member>(100 - joined);
        const int weight = draw(1, largest_weight);
        sequence.join(member, weight);
        model.join(member, static_cast<std::uint64_t>(weight), joined++);
        present.push_back(member);
      } else if (what == 2) {
        const auto at = present.begin() + draw(0, static_cast<int>(present.size()) - 1);
        sequence.leave(*at);
        model.leave(*at);
        present.erase(at);
      } else if (what == 3) {
        const auto member =
            present[static_cast<std::size_t>(draw(0, static_cast<int>(present.size()) - 1))];
        const int weight = draw(1, largest_weight);
        sequence.reweigh(member, weight);
        model.reweigh(member, static_cast<std::uint64_t>(weight));
      } else if (what <= 5) {
        const auto slots = static_cast<std::uint64_t>(draw(0, 120));
        RC_ASSERT(as_map(sequence.advance(slots)) == model.advance(slots));
      } else if (what == 6) {
        const auto slots = static_cast<std::uint64_t>(draw(0, 120));
        RC_ASSERT(as_map(sequence.rollback(slots)) == model.rollback(slots));
      } else {
        for (int i = draw(0, 12); i > 0; --i) RC_ASSERT(sequence.next() == model.next());
      }
      RC_ASSERT(sequence.position() == model.position);
      RC_ASSERT(sequence.cycle() == model.cycle);
      RC_ASSERT(sequence.ranked() == model.ranked());
    }
  });
}

/// Windows far smaller than the number of members, taken back in part: the way of a heartbeat.
TEST_CASE("Small windows and their rollback agree with the written order", "[property][sequence]") {
  check_property("small windows against the written order", 10'000, [] {
    const Sequence::Method method = draw_method();
    Sequence sequence(method);
    WrittenOut model(method);
    const int members = draw(16, 48);
    const int largest_weight = draw(1, 2) == 1 ? 10 : 150;
    for (int i = 0; i < members; ++i) {
      const int weight = draw(1, largest_weight);
      sequence.join(static_cast<Sequence::Member>(i), weight);
      model.add(static_cast<Sequence::Member>(i), static_cast<std::uint64_t>(weight), i);
    }
    model.write_out();
    const auto start = draw<std::uint64_t>(0, sequence.cycle() - 1);
    sequence.set_position(start);
    model.position = start;
    for (int step = draw(10, 40); step > 0; --step) {
      const auto dealt = static_cast<std::uint64_t>(draw(0, 5));
      const auto taken_back = static_cast<std::uint64_t>(draw(0, draw(0, 9) == 0 ? 40 : 5));
      RC_ASSERT(as_map(sequence.advance(dealt)) == model.advance(dealt));
      RC_ASSERT(as_map(sequence.rollback(taken_back)) == model.rollback(taken_back));
      if (draw(0, 3) == 0) RC_ASSERT(sequence.next() == model.next());
      RC_ASSERT(sequence.position() == model.position);
    }
  });
}

/// The definition: with `counts` dealt from the start of a period, every member's last slot comes
/// before every other member's next one.
void check_prefix(const Sequence& sequence, Counts counts) {
  const std::vector<Sequence::Member> ranked = sequence.ranked();
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const auto last = counts[ranked[i]];
    if (last == 0) continue;
    const auto weight = static_cast<std::uint64_t>(sequence.weight(ranked[i]));
    for (std::size_t j = 0; j < ranked.size(); ++j) {
      if (i == j) continue;
      const auto next = counts[ranked[j]] + 1;
      const auto other = static_cast<std::uint64_t>(sequence.weight(ranked[j]));
      if (next > other) continue;
      const std::uint64_t mine = last * other;
      const std::uint64_t theirs = next * weight;
      RC_ASSERT(mine < theirs || (mine == theirs && i > j));
    }
  }
}

TEST_CASE("Windows of weights up to 10^9 end where the definition says", "[property][sequence]") {
  check_property("sequence prefixes of large weights", 10'000, [] {
    Sequence sequence;
    const auto largest = draw<Weight>(1, 2) == 1 ? Weight{1'000'000'000} : Weight{1000};
    const int members = draw(1, 30);
    const bool similar = draw(0, 3) == 0;
    for (int i = 0; i < members; ++i)
      sequence.join(static_cast<Sequence::Member>(i),
                    similar ? largest - draw<Weight>(0, 2) : draw<Weight>(1, largest));
    const auto slots = draw<std::uint64_t>(0, sequence.cycle() - 1);
    sequence.set_position(0);
    const Counts counts = as_map(sequence.advance(slots));
    std::uint64_t sum = 0;
    for (const auto& [member, count] : counts) sum += count;
    RC_ASSERT(sum == slots);
    RC_ASSERT(sequence.position() == slots);
    check_prefix(sequence, counts);
  });
}

TEST_CASE("A window of 10^12 slots is whole periods and a rest", "[unit][sequence]") {
  Sequence sequence;
  for (Sequence::Member member = 0; member < 100; ++member)
    sequence.join(member, 1 + static_cast<Weight>(member) * 10'101'010);
  const std::uint64_t slots = 1'000'000'000'000;
  const Counts forward = as_map(sequence.advance(slots));
  std::uint64_t sum = 0;
  for (const auto& [member, count] : forward) {
    sum += count;
    const double exact = static_cast<double>(slots) * static_cast<double>(sequence.weight(member)) /
                         static_cast<double>(sequence.cycle());
    CHECK(static_cast<double>(count) == Approx(exact).margin(1.0));
  }
  CHECK(sum == slots);
  CHECK(sequence.position() == slots % sequence.cycle());
  CHECK(as_map(sequence.rollback(slots)) == forward);
  CHECK(sequence.position() == 0);
}

TEST_CASE("A copy of a sequence goes its own way", "[unit][sequence]") {
  Sequence first;
  first.join(0, 5);
  first.join(1, 3);
  first.next();
  Sequence second = first;
  first.leave(0);
  CHECK(written(second, 7) == "BAABABA");
  CHECK(written(first, 2) == "BB");
}

}  // namespace
}  // namespace fairwater
