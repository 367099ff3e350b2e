#include "schema/fields/convert.hpp"

namespace fairwater::inline schema {

void fields::refuse(const std::string& field, const std::string& what) {
  throw MalformedRecord(field, field + what);
}

void fields::refuse_enumerant(const std::string& field, std::uint16_t number) {
  refuse(field, " has the unknown value " + std::to_string(number));
}

}  // namespace fairwater::inline schema
