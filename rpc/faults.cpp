#include "rpc/faults.hpp"

namespace fairwater::inline rpc {

caf::error translate_fault(const kj::Exception& fault) {
  switch (fault.getType()) {
    case kj::Exception::Type::DISCONNECTED:
      return make_error(ErrorCode::unavailable, "the connection to the coordinator is lost");
    case kj::Exception::Type::OVERLOADED:
      return make_error(ErrorCode::unavailable, "the coordinator did not answer in time");
    case kj::Exception::Type::UNIMPLEMENTED:
      return make_error(ErrorCode::not_permitted, "this token does not permit that");
    case kj::Exception::Type::FAILED:
      break;
  }
  return make_error(ErrorCode::internal, fault.getDescription().cStr());
}

}  // namespace fairwater::inline rpc
