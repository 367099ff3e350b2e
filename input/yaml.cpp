// YAML as a document.
#include <map>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "input/builder.hpp"

namespace fairwater::inline input {
namespace {

using Kind = InputValue::Kind;

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 0 : mark.line + 1; }

class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(Document& document) : builder_(document) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true)) builder_.fail("more than one document", line_of(mark));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    remember(anchor, builder_.add(Kind::nothing, "", line_of(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.add_alias(anchored_.at(anchor), line_of(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // Quoted scalars carry the tag `!`: they are text, whatever they look like.
    remember(anchor, builder_.add(tag == "!" ? Kind::text : Kind::plain, value, line_of(mark)));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    remember(anchor, builder_.open(Kind::list, line_of(mark)));
  }
  void OnSequenceEnd() override { builder_.close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    remember(anchor, builder_.open(Kind::mapping, line_of(mark)));
  }
  void OnMapEnd() override { builder_.close(); }

 private:
  void remember(YAML::anchor_t anchor, const InputValue* value) {
    if (anchor != YAML::NullAnchor) anchored_[anchor] = value;
  }

  DocumentBuilder builder_;
  std::map<YAML::anchor_t, const InputValue*> anchored_;
  bool started_ = false;
};

void parse(std::string_view text, Document& document) {
  if (text.size() > kMaxYamlBytes)
    throw InputError(
        "", std::to_string(text.size()) + " bytes are more than " + std::to_string(kMaxYamlBytes));
  std::istringstream in{std::string{text}};
  try {  // yaml-cpp reports what is no YAML by exceptions
    YAML::Parser parser{in};
    YamlEvents events{document};
    if (parser.HandleNextDocument(events)) parser.HandleNextDocument(events);
  } catch (const YAML::Exception& exception) {
    throw InputError("", "not YAML: " + exception.msg, line_of(exception.mark));
  }
}

}  // namespace

Expected<Document> parse_yaml(std::string_view text, const std::string& name, IfNoKeys if_no_keys) {
  Document document{name};
  try {
    parse(text, document);
    if (document.root().is(Kind::nothing) && if_no_keys == IfNoKeys::accept)
      (void)DocumentBuilder{document}.open(Kind::mapping, 0);
  } catch (const InputError& error) {
    return document.refusal(error);
  }
  return document;
}

}  // namespace fairwater::inline input
