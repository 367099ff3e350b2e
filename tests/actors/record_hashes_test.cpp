#include "actors/coordinator/record_hashes.hpp"

#include <catch2/catch.hpp>

namespace fairwater {

TEST_CASE("hashes of records are known once learned, and are bounded", "[unit]") {
  RecordHashes hashes;
  Hash hash{};
  hash.fill(7);
  CHECK_FALSE(hashes.find(5));
  hashes.learn(5, hash);
  CHECK(hashes.find(5) == hash);
  for (std::uint64_t i = 0; i < RecordHashes::kMost; ++i) hashes.learn(1000 + i, hash);
  CHECK_FALSE(hashes.find(5));
  CHECK(hashes.find(1000 + RecordHashes::kMost - 1));
}

}  // namespace fairwater
