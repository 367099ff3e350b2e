#include "daemon/byte_size.hpp"

#include "model/resources.hpp"

namespace fairwater::inline daemon {

Expected<std::uint64_t> parse_bytes(const std::string& text) {
  const auto mebibytes = parse_amount("memory", text);
  if (!mebibytes) return mebibytes.error();
  return static_cast<std::uint64_t>(*mebibytes) << 20;
}

}  // namespace fairwater::inline daemon
