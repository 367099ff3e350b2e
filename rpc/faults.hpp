// For whoever calls across the wire: what comes back, as values.
#pragma once

#include <type_traits>

#include <capnp/capability.h>
#include <kj/exception.h>

#include "model/errors.hpp"
#include "rpc/wire.hpp"

namespace fairwater::inline rpc {

/// A failed call in Fairwater's words: a lost or silent peer is `unavailable`, a method that the
/// session does not have `not_permitted`.
[[nodiscard]] caf::error translate_fault(const kj::Exception& fault);

/// Sends a request as a plain promise, for combinators that know nothing of pipelines.
template <class Params, class Results>
[[nodiscard]] kj::Promise<capnp::Response<Results>> response_of(
    capnp::Request<Params, Results>& request) {
  return request.send();
}

/// The error in a response, or else what `read_value` makes of it. A malformed answer is
/// `internal`.
template <class Response, class ReadValue>
[[nodiscard]] auto answer_in(Response& response, ReadValue&& read_value)
    -> Expected<std::decay_t<decltype(read_value())>> {
  if (response.hasError()) return read(response.getError());
  return guard_decoding(read_value, ErrorCode::internal);
}

}  // namespace fairwater::inline rpc
