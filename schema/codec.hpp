// Value types to and from Cap'n Proto, for records on disk and for the edges of the wire.
//
// Wire structs end here: inside Fairwater only value types travel. Reading checks what a schema
// cannot say (enumerants, lengths of hashes and vectors, names given twice); whether a job or
// tenant makes sense is model/'s validate().
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <capnp/message.h>
#include <kj/exception.h>

#include "model/job.hpp"
#include "model/journal.hpp"
#include "model/node.hpp"
#include "model/tenant.hpp"
#include "model/usage.hpp"
#include "schema/records.capnp.h"

namespace fairwater::inline schema {

/// A wire value that no value type can hold. Thrown by read(), turned into an error by decode().
class MalformedRecord : public std::runtime_error {
 public:
  MalformedRecord(std::string field, const std::string& message)
      : std::runtime_error(message), field_(std::move(field)) {}
  [[nodiscard]] const std::string& field() const { return field_; }

 private:
  std::string field_;
};

/// The wire struct that holds a value type, and how it is read.
template <class Value>
struct WireOf;

// Declares for a value type with a field list (schema/fields/)
//   encode(value, builder)  fills a fresh builder
//   read(reader)            throws MalformedRecord; kj::Exception for a broken message
#define FAIRWATER_CODEC_AS(Value, Wire)                                        \
  void encode(const Value& value, Wire::Builder builder);                      \
  [[nodiscard]] Value read(Wire::Reader reader);                               \
  template <>                                                                  \
  struct WireOf<Value> {                                                       \
    using type = Wire;                                                         \
    static Value read(type::Reader reader) { return fairwater::read(reader); } \
  }
#define FAIRWATER_CODEC(Value) FAIRWATER_CODEC_AS(Value, wire::Value)

FAIRWATER_CODEC(TaskKey);
FAIRWATER_CODEC(JobSpec);
FAIRWATER_CODEC(TaskResult);
FAIRWATER_CODEC(TaskRecord);
FAIRWATER_CODEC(TaskCounts);
FAIRWATER_CODEC(JobRecord);
FAIRWATER_CODEC(RunAs);
FAIRWATER_CODEC(TenantSpec);
FAIRWATER_CODEC(TenantRecord);
FAIRWATER_CODEC(NodeTraits);
FAIRWATER_CODEC(NodeSpec);
FAIRWATER_CODEC(NodeRecord);
FAIRWATER_CODEC(Grant);
FAIRWATER_CODEC(TenantLine);
FAIRWATER_CODEC(Repayment);
FAIRWATER_CODEC(Loan);
FAIRWATER_CODEC(Advance);
FAIRWATER_CODEC(FailedLaunch);
FAIRWATER_CODEC(LeaseTerms);
FAIRWATER_CODEC(DebtTerms);
FAIRWATER_CODEC(Reservation);
FAIRWATER_CODEC(Deal);
FAIRWATER_CODEC(ResourceKind);
FAIRWATER_CODEC(ClusterCreated);
FAIRWATER_CODEC(JournalRecord);
FAIRWATER_CODEC(UsageRecord);

[[nodiscard]] Role read(wire::Role role);
[[nodiscard]] inline wire::Role to_wire(Role role) { return static_cast<wire::Role>(role); }

[[nodiscard]] inline std::string to_std_string(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}
[[nodiscard]] inline capnp::Text::Reader to_text(const std::string& text) {
  return {text.c_str(), text.size()};
}

/// Runs `body` and turns what read() throws into `failure_code` with the field's name.
template <class Body>
[[nodiscard]] auto guard_decoding(Body&& body, ErrorCode failure_code = ErrorCode::invalid_input)
    -> Expected<decltype(body())> {
  try {
    return body();
  } catch (const MalformedRecord& fault) {
    return make_error(failure_code, fault.what(), fault.field());
  } catch (const kj::Exception& fault) {
    return make_error(failure_code,
                      std::string("malformed message: ") + fault.getDescription().cStr());
  }
}

/// Reads any of the wire structs above: decode(params.getSpec()). `invalid_input` names the field.
template <class Reader>
[[nodiscard]] auto decode(Reader reader) -> Expected<decltype(read(reader))> {
  return guard_decoding([&] { return read(reader); });
}

// -- records on disk
/// A record's bytes, aligned and bounded for reading. Views nothing: it copies.
class RecordReader {
 public:
  /// Throws MalformedRecord when `bytes` is not a whole number of words, empty or too large.
  explicit RecordReader(std::string_view bytes);
  template <class Wire>
  [[nodiscard]] typename Wire::Reader root() {
    return reader_.getRoot<Wire>();
  }

 private:
  kj::Array<capnp::word> words_;
  kj::ArrayPtr<const capnp::word> segment_;
  capnp::SegmentArrayMessageReader reader_;
};

/// The message in canonical form. O(size).
[[nodiscard]] std::string canonical_bytes(capnp::MessageBuilder& message);

/// Canonical bytes: equal for equal values (records.capnp, "Bytes on disk"). O(size).
template <class Value>
[[nodiscard]] std::string to_bytes(const Value& value) {
  constexpr std::size_t kFirstWords = 256;  // most records are small, and what is here is zeroed
  capnp::word first[kFirstWords] = {};
  capnp::MallocMessageBuilder message(kj::arrayPtr(first, kFirstWords));
  encode(value, message.initRoot<typename WireOf<Value>::type>());
  return canonical_bytes(message);
}

/// `storage_damaged` for anything that is not the bytes of such a record. O(size).
template <class Value>
[[nodiscard]] Expected<Value> from_bytes(std::string_view bytes) {
  return guard_decoding(
      [&] {
        RecordReader message(bytes);
        return WireOf<Value>::read(message.root<typename WireOf<Value>::type>());
      },
      ErrorCode::storage_damaged);
}

/// The number of the kind of the journal record in `bytes`, where this version knows no such kind;
/// none also for what is no record.
[[nodiscard]] std::optional<std::uint16_t> unknown_kind_in(std::string_view bytes);

}  // namespace fairwater::inline schema
