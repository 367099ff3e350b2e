// The book's IOUs by debtor and creditor, in one piece of memory: a settlement touches one for each
// pair of a lender and a borrower.
//
// Open addressing with linear probing (Knuth, The Art of Computer Programming 3, 6.4, algorithms L
// and R): an entry stands at its key's home or behind it, with no free place between; at least half
// of the places are free.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "policy/core/check.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline ledger {

class IouTable {
 public:
  /// A debtor and its creditor in one number, ordered by debtor, then creditor. Never 0.
  using Pair = std::uint64_t;
  struct Entry {
    Pair pair = 0;  ///< 0: the place is free
    Units units = 0;
    std::uint64_t age = 0;
    std::uint32_t rest = 0;
  };

  [[nodiscard]] const Entry* find(Pair pair) const {
    const Entry& found = places_[place_of(pair)];
    return found.pair == pair ? &found : nullptr;
  }
  [[nodiscard]] Entry* find(Pair pair) {
    return const_cast<Entry*>(std::as_const(*this).find(pair));
  }
  struct Inserted {
    Entry& entry;
    bool is_new;
  };
  /// The pair's entry, a new one of no units where there was none. Good until the next insert() or
  /// erase().
  Inserted insert(Pair pair) {
    FAIRWATER_CHECK(pair != 0, "a debtor is not its own creditor");
    std::size_t place = place_of(pair);
    if (places_[place].pair == pair) return {places_[place], false};
    if (2 * (size_ + 1) > places_.size()) {
      grow();
      place = place_of(pair);
    }
    ++size_;
    places_[place] = {.pair = pair};
    return {places_[place], true};
  }
  /// Those behind it move up, unless they stand at home.
  void erase(Pair pair) {
    std::size_t hole = place_of(pair);
    if (places_[hole].pair != pair) return;
    --size_;
    for (std::size_t next = behind(hole); places_[next].pair != 0; next = behind(next)) {
      const std::size_t from_home = (next - home_of(places_[next].pair)) & mask();
      if (from_home < ((next - hole) & mask())) continue;
      places_[hole] = places_[next];
      hole = next;
    }
    places_[hole] = {};
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// In no order that means anything.
  template <class Visit>
  void visit(Visit&& visit) const {
    for (const Entry& entry : places_)
      if (entry.pair != 0) visit(entry);
  }

 private:
  static constexpr std::size_t kFewestPlaces = 16;

  [[nodiscard]] std::size_t mask() const { return places_.size() - 1; }
  [[nodiscard]] std::size_t behind(std::size_t place) const { return (place + 1) & mask(); }
  /// Multiplied by 2^64 over the golden ratio the upper bits spread neighbours apart.
  [[nodiscard]] std::size_t home_of(Pair pair) const {
    return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15U) >> shift_);
  }
  /// Its own, or the free one where it would stand.
  [[nodiscard]] std::size_t place_of(Pair pair) const {
    std::size_t place = home_of(pair);
    while (places_[place].pair != pair && places_[place].pair != 0) place = behind(place);
    return place;
  }
  void grow() {
    const std::vector<Entry> before =
        std::exchange(places_, std::vector<Entry>(2 * places_.size()));
    --shift_;
    for (const Entry& entry : before)
      if (entry.pair != 0) places_[place_of(entry.pair)] = entry;
  }

  std::vector<Entry> places_{std::vector<Entry>(kFewestPlaces)};  ///< a power of two
  std::size_t size_ = 0;
  int shift_ = 64 - std::countr_zero(kFewestPlaces);
};

}  // namespace fairwater::inline policy::inline ledger
