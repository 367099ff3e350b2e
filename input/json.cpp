// JSON as a document.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "input/builder.hpp"

namespace fairwater::inline input {
namespace {

using Kind = InputValue::Kind;

/// The parser's message without its own prefix and line breaks.
std::string plain_reason(const std::string& message) {
  std::string text = message.substr(0, message.rfind("; last read"));
  const std::size_t prefix = text.find("] ");
  if (prefix != std::string::npos) text = text.substr(prefix + 2);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonEvents(Document& document) : builder_(document) {}

  bool null() override { return add(Kind::nothing, "null"); }
  bool boolean(bool value) override { return add(Kind::boolean, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return add(Kind::number, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(Kind::number, std::to_string(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& written) override {
    return add(Kind::number, written);
  }
  bool string(string_t& value) override { return add(Kind::text, std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Kind::mapping); }
  bool key(string_t& value) override { return add(Kind::text, std::move(value)); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Kind::list); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    throw InputError("", "is not valid JSON: " + plain_reason(error.what()));
  }

 private:
  bool add(Kind kind, std::string written) {
    builder_.add(kind, std::move(written), 0);
    return true;
  }
  bool open(Kind kind) {
    builder_.open(kind, 0);
    return true;
  }
  bool close() {
    builder_.close();
    return true;
  }

  DocumentBuilder builder_;
};

}  // namespace

Expected<Document> parse_json(std::string_view text) {
  Document document{""};
  try {
    JsonEvents events{document};
    nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  } catch (const InputError& error) {
    return document.refusal(error);
  }
  return document;
}

}  // namespace fairwater::inline input
