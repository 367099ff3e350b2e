#include "model/errors.hpp"

#include <array>
#include <utility>

#include <caf/atom.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/message.hpp>
#include <caf/message_handler.hpp>

namespace fairwater::inline model {
namespace {

constexpr caf::atom_value kCategory = caf::atom("fairwater");

constexpr std::array<std::pair<ErrorCode, std::string_view>, 16> kNames{{
    {ErrorCode::invalid_input, "invalid_input"},
    {ErrorCode::not_found, "not_found"},
    {ErrorCode::already_exists, "already_exists"},
    {ErrorCode::not_permitted, "not_permitted"},
    {ErrorCode::unauthenticated, "unauthenticated"},
    {ErrorCode::wrong_state, "wrong_state"},
    {ErrorCode::not_supported, "not_supported"},
    {ErrorCode::unavailable, "unavailable"},
    {ErrorCode::overloaded, "overloaded"},
    {ErrorCode::disk_full, "disk_full"},
    {ErrorCode::storage_failed, "storage_failed"},
    {ErrorCode::storage_damaged, "storage_damaged"},
    {ErrorCode::storage_behind, "storage_behind"},
    {ErrorCode::storage_locked, "storage_locked"},
    {ErrorCode::internal, "internal"},
    {ErrorCode::not_leader, "not_leader"},
}};

}  // namespace

std::string_view to_string(ErrorCode code) {
  for (const auto& [value, name] : kNames)
    if (value == code) return name;
  return "internal";
}

ErrorCode error_code_from(std::string_view name) {
  for (const auto& [value, text] : kNames)
    if (text == name) return value;
  return ErrorCode::internal;
}

bool is_retryable(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::overloaded ||
         code == ErrorCode::disk_full || code == ErrorCode::not_leader;
}

caf::error make_error(ErrorCode code, std::string message, std::string field) {
  return caf::error{static_cast<std::uint8_t>(code), kCategory,
                    caf::make_message(std::move(message), std::move(field))};
}

caf::error make_not_leader(std::string message, std::string leader) {
  return caf::error{static_cast<std::uint8_t>(ErrorCode::not_leader), kCategory,
                    caf::make_message(std::move(message), std::string(), std::move(leader))};
}

ErrorDetails details(const caf::error& error) {
  ErrorDetails result;
  if (!error) return result;
  if (error.category() != kCategory) {
    result.message = caf::deep_to_string(error);
    return result;
  }
  result.code = static_cast<ErrorCode>(error.code());
  caf::message context = error.context();
  context.apply(caf::message_handler{
      [&](std::string& message, std::string& field) {
        result.message = message;
        result.field = field;
      },
      [&](std::string& message, std::string&, std::string& leader) {
        result.message = message;
        result.leader = leader;
      },
  });
  return result;
}

}  // namespace fairwater::inline model
