#include "input/yaml_fields.hpp"

#include <charconv>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>

namespace fairwater {
namespace {

int line_of(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? 0 : mark.line + 1;
}

/// A scalar as it was written, or none for lists, mappings and nothing.
std::optional<std::string> scalar(const YAML::Node& node) {
  if (!node.IsScalar()) return std::nullopt;
  return node.Scalar();
}

/// Quoted scalars carry the tag `!`: they are text, whatever they look like.
bool is_plain(const YAML::Node& node) { return node.IsScalar() && node.Tag() != "!"; }

std::string shown(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return (is_plain(node) ? "'" : "the text '") + node.Scalar().substr(0, 100) + "'";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a mapping";
    default:
      return "nothing";
  }
}

template <class Integer>
std::optional<Integer> whole_number(const YAML::Node& node) {
  if (!is_plain(node)) return std::nullopt;
  const std::string& text = node.Scalar();
  Integer value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Hears of a document's beginning and of nothing else.
class DocumentStart : public YAML::EventHandler {
 public:
  std::optional<int> line;

  void OnDocumentStart(const YAML::Mark& mark) override { line = mark.line + 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// None when there is at most one document. YAML::LoadAll would tell, too, but for some broken
/// input it finds empty documents without end.
std::optional<int> line_of_second_document(std::string_view text) {
  std::istringstream in{std::string{text}};
  YAML::Parser parser{in};
  DocumentStart first;
  DocumentStart second;
  if (parser.HandleNextDocument(first)) parser.HandleNextDocument(second);
  return second.line;
}

std::string with_line(const std::string& message, int line, const std::string& name) {
  if (line <= 0) return message + " (in " + name + ")";
  return message + " (line " + std::to_string(line) + " of " + name + ")";
}

}  // namespace

YamlDocument::YamlDocument(std::string_view text, std::string name, IfNoKeys if_no_keys)
    : name_(std::move(name)) {
  if (text.size() > kMaxYamlBytes) {
    refuse("", 0,
           std::to_string(text.size()) + " bytes are more than " + std::to_string(kMaxYamlBytes));
    return;
  }
  try {  // yaml-cpp reports what is no YAML by exceptions
    root_.reset(YAML::Load(std::string{text}));
    if (const auto line = line_of_second_document(text)) {
      refuse("", *line, "more than one document");
      return;
    }
  } catch (const YAML::Exception& exception) {
    refuse("", exception.mark.is_null() ? 0 : exception.mark.line + 1,
           "not YAML: " + exception.msg);
    return;
  }
  if (root_.IsNull() && if_no_keys == IfNoKeys::accept)
    root_.reset(YAML::Node(YAML::NodeType::Map));
  if (!root_.IsMap()) refuse("", line_of(root_), "must be keys with values, not " + shown(root_));
}

void YamlDocument::refuse(const std::string& field, int line, const std::string& message) {
  if (!error_)
    error_ = make_error(ErrorCode::invalid_input, with_line(message, line, name_), field);
}

void YamlDocument::refuse(const caf::error& error) {
  if (!error_) error_ = locate(error);
}

caf::error YamlDocument::locate(const caf::error& error) const {
  if (!error) return error;
  const ErrorDetails said = details(error);
  for (std::string field = said.field; !field.empty();
       field.resize(field.find_last_of('.') == std::string::npos ? 0 : field.find_last_of('.'))) {
    const auto found = lines_.find(field);
    if (found != lines_.end())
      return make_error(said.code, with_line(said.message, found->second, name_), said.field);
  }
  return error;
}

YamlFields::YamlFields(YamlDocument& document, const YAML::Node& node, std::string path)
    : document_(&document), path_(std::move(path)) {
  if (document.error()) return;
  if (!node.IsMap()) {
    document.refuse(path_.substr(0, path_.find_last_not_of('.') + 1), line_of(node),
                    "must be keys with values, not " + shown(node));
    return;
  }
  for (const auto& entry : node) {
    const auto key = scalar(entry.first);
    const int line = line_of(entry.first);
    if (!key) {
      document.refuse(path_.substr(0, path_.find_last_not_of('.') + 1), line,
                      "a key must be a name, not " + shown(entry.first));
      return;
    }
    if (!values_.emplace(*key, entry.second).second)
      document.refuse(path_of(*key), line, "given twice");
    lines_.emplace(*key, line);
    document.remember_line(path_of(*key), line);
  }
}

std::optional<YAML::Node> YamlFields::take(const char* key) {
  known_.insert(key);
  const auto found = values_.find(key);
  if (found == values_.end() || document_->error()) return std::nullopt;
  return found->second;
}

void YamlFields::refuse(const char* key, const YAML::Node& at, const std::string& message) {
  const int line = line_of(at);
  if (line > 0 && !at.IsNull())
    document_->refuse(path_of(key), line, message);
  else  // yaml-cpp marks what is not there at the next thing that is
    document_->refuse(make_error(ErrorCode::invalid_input, message, path_of(key)));
}

std::optional<std::string> YamlFields::written(const char* key, const YAML::Node& node,
                                               const char* what) {
  auto text = scalar(node);
  if (!text) refuse(key, node, shown(node) + " is not " + what);
  return text;
}

void YamlFields::text(const char* key, std::string& target) {
  const auto node = take(key);
  if (!node) return;
  if (auto text = written(key, *node, "text")) target = std::move(*text);
}

void YamlFields::each_text(const char* key, const YAML::Node& list,
                           const std::function<void(const YAML::Node&, const std::string&)>& use) {
  if (!list.IsSequence()) return refuse(key, list, shown(list) + " is not a list");
  for (const auto& entry : list) {
    const auto value = scalar(entry);
    if (!value) return refuse(key, entry, shown(entry) + " in the list is not text");
    use(entry, *value);
  }
}

void YamlFields::texts(const char* key, std::vector<std::string>& target) {
  const auto node = take(key);
  if (!node) return;
  target.clear();
  each_text(key, *node,
            [&](const YAML::Node&, const std::string& value) { target.push_back(value); });
}

void YamlFields::text_map(const char* key, std::map<std::string, std::string>& target) {
  const auto node = take(key);
  if (!node) return;
  if (!node->IsMap()) return refuse(key, *node, shown(*node) + " is not a mapping");
  target.clear();
  for (const auto& entry : *node) {
    const auto name = scalar(entry.first);
    const auto value = scalar(entry.second);
    if (!name) return refuse(key, entry.first, shown(entry.first) + " is not a name");
    if (!value)
      return refuse(key, entry.second, *name + ": " + shown(entry.second) + " is not text");
    if (!target.emplace(*name, *value).second)
      return refuse(key, entry.first, *name + " is given twice");
  }
}

void YamlFields::boolean(const char* key, bool& target) {
  const auto node = take(key);
  if (!node) return;
  if (is_plain(*node) && (node->Scalar() == "true" || node->Scalar() == "false"))
    target = node->Scalar() == "true";
  else
    refuse(key, *node, shown(*node) + " is not true or false");
}

void YamlFields::amounts(const char* key, NamedAmounts& target) {
  const auto node = take(key);
  if (!node) return;
  if (!node->IsMap())
    return refuse(key, *node, shown(*node) + " is not a mapping, as in {cpu: 1, memory: 512MiB}");
  std::set<std::string> seen;
  for (const auto& entry : *node) {
    const auto name = scalar(entry.first);
    if (!name) return refuse(key, entry.first, shown(entry.first) + " is not a resource's name");
    const std::string field = std::string{key} + "." + *name;
    document_->remember_line(path_of(field), line_of(entry.first));
    if (!seen.insert(*name).second) return refuse(field.c_str(), entry.first, "given twice");
    const auto amount = [&](const std::string& text) { return parse_amount(*name, text); };
    parse_node(field.c_str(), entry.second, amount, target[*name], "an amount");
  }
}

void YamlFields::duration_ms(const char* key, std::int64_t& target) {
  parsed(key, parse_duration_ms, target, "a duration");
}

void YamlFields::millionths(const char* key, std::uint32_t& target) {
  const auto node = take(key);
  if (!node) return;
  const auto bad = [&] {
    refuse(key, *node, shown(*node) + " is not a number such as 0.5, with at most six decimals");
  };
  if (!is_plain(*node)) return bad();
  const std::string& written = node->Scalar();
  const auto point = written.find('.');
  const std::string whole = written.substr(0, point);
  std::string fraction = point == std::string::npos ? "0" : written.substr(point + 1);
  const auto all_digits = [](const std::string& digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!all_digits(whole) || !all_digits(fraction) || whole.size() > 3 || fraction.size() > 6)
    return bad();
  fraction.resize(6, '0');
  target = static_cast<std::uint32_t>(std::stoul(whole) * 1'000'000 + std::stoul(fraction));
}

std::optional<std::int64_t> YamlFields::read_integer(const char* key, std::int64_t least,
                                                     std::int64_t most) {
  const auto node = take(key);
  if (!node) return std::nullopt;
  const auto value = whole_number<std::int64_t>(*node);
  if (value && *value >= least && *value <= most) return value;
  refuse(key, *node,
         shown(*node) + " is not a whole number from " + std::to_string(least) + " to " +
             std::to_string(most));
  return std::nullopt;
}

void YamlFields::integers(const char* key, std::vector<std::uint64_t>& target) {
  const auto node = take(key);
  if (!node) return;
  target.clear();
  each_text(key, *node, [&](const YAML::Node& entry, const std::string&) {
    const auto value = whole_number<std::uint64_t>(entry);
    if (value)
      target.push_back(*value);
    else
      refuse(key, entry, shown(entry) + " in the list is not a positive whole number");
  });
}

void YamlFields::finish() {
  for (const auto& [key, line] : lines_) {
    if (known_.contains(key)) continue;
    std::string names;
    for (const auto& name : known_) names += (names.empty() ? "" : ", ") + name;
    document_->refuse(path_of(key), line, "is not a key here; the keys are " + names);
  }
}

}  // namespace fairwater
