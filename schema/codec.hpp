// Value types to and from Cap'n Proto, for records on disk and for the edges of the wire.
//
// Wire structs end here: inside Fairwater only value types travel. Reading checks what a schema
// cannot say (enumerants, lengths of hashes and vectors, names given twice); whether a job or
// tenant makes sense is model/'s validate().
#pragma once

#include <concepts>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <capnp/message.h>
#include <kj/exception.h>

#include "model/job.hpp"
#include "model/journal.hpp"
#include "model/node.hpp"
#include "model/tenant.hpp"
#include "schema/records.capnp.h"

namespace fairwater {

using Texts = std::vector<std::string>;
using TextMap = std::map<std::string, std::string>;

// -- value to wire: fills a fresh builder ---------------------------------------------------------
// Lists take a builder of the value's size: encode(spec.resources, builder.initResources(size)).
void encode(const Texts& texts, capnp::List<capnp::Text>::Builder builder);
void encode(const TextMap& map, capnp::List<wire::KeyValue>::Builder builder);
void encode(const NamedAmounts& amounts, capnp::List<wire::NamedAmount>::Builder builder);
void encode(const TaskKey& key, wire::TaskKey::Builder builder);
void encode(const JobSpec& spec, wire::JobSpec::Builder builder);
void encode(const TaskResult& result, wire::TaskResult::Builder builder);
void encode(const TaskRecord& task, wire::TaskRecord::Builder builder);
void encode(const TaskCounts& counts, wire::TaskCounts::Builder builder);
void encode(const JobRecord& job, wire::JobRecord::Builder builder);
void encode(const RunAs& run_as, wire::RunAs::Builder builder);
void encode(const TenantSpec& spec, wire::TenantSpec::Builder builder);
void encode(const TenantRecord& tenant, wire::TenantRecord::Builder builder);
void encode(const NodeTraits& traits, wire::NodeTraits::Builder builder);
void encode(const NodeSpec& spec, wire::NodeSpec::Builder builder);
void encode(const NodeRecord& node, wire::NodeRecord::Builder builder);
void encode(const Grant& grant, wire::Grant::Builder builder);
void encode(const TenantLine& line, wire::TenantLine::Builder builder);
void encode(const Repayment& repayment, wire::Repayment::Builder builder);
void encode(const Loan& loan, wire::Loan::Builder builder);
void encode(const Advance& advance, wire::Advance::Builder builder);
void encode(const FailedLaunch& launch, wire::FailedLaunch::Builder builder);
void encode(const LeaseTerms& terms, wire::LeaseTerms::Builder builder);
void encode(const Deal& deal, wire::Deal::Builder builder);
void encode(const ResourceKind& kind, wire::ResourceKind::Builder builder);
void encode(const ClusterCreated& cluster, wire::ClusterCreated::Builder builder);
void encode(const JournalRecord& record, wire::JournalRecord::Builder builder);

/// Encodes element by element.
template <class Value, class Builder>
void encode_list(const std::vector<Value>& values, Builder builder) {
  for (std::size_t i = 0; i < values.size(); ++i) encode(values[i], builder[i]);
}

/// A wire value that no value type can hold. Thrown by read(), turned into an error by decode().
class MalformedRecord : public std::runtime_error {
 public:
  MalformedRecord(std::string field, const std::string& message)
      : std::runtime_error(message), field_(std::move(field)) {}
  [[nodiscard]] const std::string& field() const { return field_; }

 private:
  std::string field_;
};

// -- wire to value: throw MalformedRecord, or kj::Exception for a broken message; see decode()
[[nodiscard]] Texts read(capnp::List<capnp::Text>::Reader reader);
[[nodiscard]] TextMap read(capnp::List<wire::KeyValue>::Reader reader);
[[nodiscard]] NamedAmounts read(capnp::List<wire::NamedAmount>::Reader reader);
[[nodiscard]] TaskKey read(wire::TaskKey::Reader reader);
[[nodiscard]] JobSpec read(wire::JobSpec::Reader reader);
[[nodiscard]] TaskResult read(wire::TaskResult::Reader reader);
[[nodiscard]] TaskRecord read(wire::TaskRecord::Reader reader);
[[nodiscard]] TaskCounts read(wire::TaskCounts::Reader reader);
[[nodiscard]] JobRecord read(wire::JobRecord::Reader reader);
[[nodiscard]] RunAs read(wire::RunAs::Reader reader);
[[nodiscard]] TenantSpec read(wire::TenantSpec::Reader reader);
[[nodiscard]] TenantRecord read(wire::TenantRecord::Reader reader);
[[nodiscard]] NodeTraits read(wire::NodeTraits::Reader reader);
[[nodiscard]] NodeSpec read(wire::NodeSpec::Reader reader);
[[nodiscard]] NodeRecord read(wire::NodeRecord::Reader reader);
[[nodiscard]] Grant read(wire::Grant::Reader reader);
[[nodiscard]] TenantLine read(wire::TenantLine::Reader reader);
[[nodiscard]] Repayment read(wire::Repayment::Reader reader);
[[nodiscard]] Loan read(wire::Loan::Reader reader);
[[nodiscard]] Advance read(wire::Advance::Reader reader);
[[nodiscard]] FailedLaunch read(wire::FailedLaunch::Reader reader);
[[nodiscard]] LeaseTerms read(wire::LeaseTerms::Reader reader);
[[nodiscard]] Deal read(wire::Deal::Reader reader);
[[nodiscard]] ResourceKind read(wire::ResourceKind::Reader reader);
[[nodiscard]] ClusterCreated read(wire::ClusterCreated::Reader reader);
[[nodiscard]] JournalRecord read(wire::JournalRecord::Reader reader);
[[nodiscard]] Role read(wire::Role role);
[[nodiscard]] Hash read_hash(capnp::Data::Reader data, std::string_view field);

template <class List>
[[nodiscard]] auto read_list(List list) {
  std::vector<decltype(read(list[0]))> values;
  for (auto element : list) values.push_back(read(element));
  return values;
}

[[nodiscard]] inline std::string to_std_string(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}
[[nodiscard]] inline capnp::Text::Reader to_text(const std::string& text) {
  return {text.c_str(), text.size()};
}
[[nodiscard]] inline wire::Role to_wire(Role role) { return static_cast<wire::Role>(role); }

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

/// The wire struct that holds a value type on disk, and how it is read. Specialised for each type
/// that is a record of its own; the ledger adds its own ones.
template <class Value>
struct WireOf;
template <>
struct WireOf<JobRecord> {
  using type = wire::JobRecord;
  static JobRecord read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<TaskRecord> {
  using type = wire::TaskRecord;
  static TaskRecord read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<TenantRecord> {
  using type = wire::TenantRecord;
  static TenantRecord read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<NodeRecord> {
  using type = wire::NodeRecord;
  static NodeRecord read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<JournalRecord> {
  using type = wire::JournalRecord;
  static JournalRecord read(type::Reader reader) { return fairwater::read(reader); }
};

/// Canonical bytes: equal for equal values (records.capnp, "Bytes on disk"). O(size).
template <class Value>
[[nodiscard]] std::string to_bytes(const Value& value) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<typename WireOf<Value>::type>();
  encode(value, root);
  const kj::Array<capnp::word> words = capnp::canonicalize(root.asReader());
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
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

}  // namespace fairwater
