// The bytes of records.
#include "schema/codec.hpp"

#include <cstring>

namespace fairwater::inline schema {

namespace {

constexpr std::size_t kMaxRecordBytes = std::size_t{256} << 20;

kj::Array<capnp::word> aligned_copy(std::string_view bytes) {
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0 || bytes.size() > kMaxRecordBytes)
    throw MalformedRecord(
        "", "a record of " + std::to_string(bytes.size()) + " bytes is not a whole message");
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  return words;
}

/// Every part of a canonical message is read about once; a message that points at one part many
/// times over hits the limit.
capnp::ReaderOptions limits_for(std::size_t words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 4 * words + 1024;
  options.nestingLimit = 16;
  return options;
}

}  // namespace

RecordReader::RecordReader(std::string_view bytes)
    : words_(aligned_copy(bytes)),
      segment_(words_.asPtr()),
      reader_(kj::arrayPtr(&segment_, 1), limits_for(words_.size())) {}

}  // namespace fairwater::inline schema
