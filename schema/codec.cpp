// The bytes of records.
#include "schema/codec.hpp"

#include <cstring>

#include <capnp/any.h>

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

std::string canonical_bytes(capnp::MessageBuilder& message) {
  // A copy of all that can be reached, without what is zero at the ends: no larger than the
  // message.
  std::string bytes(message.sizeInWords() * sizeof(capnp::word), '\0');
  capnp::FlatMessageBuilder copy(kj::arrayPtr(reinterpret_cast<capnp::word*>(bytes.data()),
                                              bytes.size() / sizeof(capnp::word)));
  copy.initRoot<capnp::AnyPointer>().setCanonical(message.getRoot<capnp::AnyPointer>().asReader());
  bytes.resize(copy.getSegmentsForOutput()[0].size() * sizeof(capnp::word));
  return bytes;
}

RecordReader::RecordReader(std::string_view bytes)
    : words_(aligned_copy(bytes)),
      segment_(words_.asPtr()),
      reader_(kj::arrayPtr(&segment_, 1), limits_for(words_.size())) {}

}  // namespace fairwater::inline schema
