#include "rpc/addresses.hpp"

#include <algorithm>

#include "rpc/sockets.hpp"

namespace fairwater::inline rpc {
namespace {

constexpr std::size_t kMostAddresses = 16;

std::string without_spaces(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

Expected<AddressList> AddressList::parse(const std::string& text, const char* field) {
  std::vector<std::string> addresses;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    addresses.push_back(without_spaces(text.substr(begin, comma - begin)));
    if (auto invalid = validate_address(addresses.back(), field)) return invalid;
    begin = comma + 1;
  }
  if (addresses.size() > kMostAddresses)
    return make_error(ErrorCode::invalid_input,
                      std::to_string(addresses.size()) + " addresses are more than " +
                          std::to_string(kMostAddresses),
                      field);
  return AddressList(std::move(addresses));
}

const std::string& AddressList::other(std::size_t number) const {
  if (!named_.empty()) return addresses_[(at_ + number) % size()];
  if (size() == 1) return addresses_.front();
  return addresses_[(at_ + 1 + number % (size() - 1)) % size()];
}

void AddressList::advance() {
  named_.clear();
  at_ = (at_ + 1) % size();
}

bool AddressList::follow(const std::string& leader) {
  if (validate_address(leader)) return false;
  const auto known = std::find(addresses_.begin(), addresses_.end(), leader);
  named_.clear();
  if (known == addresses_.end())
    named_ = leader;
  else
    at_ = static_cast<std::size_t>(known - addresses_.begin());
  return true;
}

std::string AddressList::text() const {
  std::string all;
  for (const std::string& address : addresses_) all += (all.empty() ? "" : ",") + address;
  return all;
}

}  // namespace fairwater::inline rpc
