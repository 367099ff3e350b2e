// Where a coordinator may be: one address or several, of which one leads. The one that works is
// kept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/errors.hpp"

namespace fairwater::inline rpc {

class AddressList {
 public:
  /// HOST:PORT, or several with commas between them. `invalid_input` of `field` otherwise.
  [[nodiscard]] static Expected<AddressList> parse(const std::string& text,
                                                   const char* field = "address");

  /// The one to try, or that works.
  [[nodiscard]] const std::string& current() const {
    return named_.empty() ? addresses_[at_] : named_;
  }
  [[nodiscard]] std::size_t size() const { return addresses_.size(); }
  /// The `number`-th after the current one, in turn: never that itself, if there is another.
  [[nodiscard]] const std::string& other(std::size_t number) const;
  /// The current one does not work: the next is tried.
  void advance();
  /// A coordinator has named this one as the leader. It need not be of the list: then it is
  /// forgotten when it does not work. False, and nothing changes, when it is no address.
  bool follow(const std::string& leader);
  /// As it was written.
  [[nodiscard]] std::string text() const;

 private:
  explicit AddressList(std::vector<std::string> addresses) : addresses_(std::move(addresses)) {}
  std::vector<std::string> addresses_;  ///< at least one
  std::size_t at_ = 0;
  std::string named_;  ///< and not in the list; in use while it is not empty
};

/// A coordinator names another, which names another: so often in a row it is believed.
inline constexpr int kMostRedirects = 3;
/// How long one of several addresses is tried before the next is.
inline constexpr std::int64_t kTryTimeoutMs = 2000;

}  // namespace fairwater::inline rpc
