#include "policy/allocator/placement.hpp"

#include <algorithm>
#include <cctype>
#include <functional>

namespace fairwater::inline policy::inline allocator {
namespace {

constexpr std::size_t kMaxExpressionLength = 4096;
constexpr int kMaxExpressionDepth = 64;

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         c == '/';
}

}  // namespace

bool is_label_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_of_word);
}

struct LabelExpression::Node {
  enum class Kind { all_of, any_of, not_of, has, one_of, none_of };
  Kind kind = Kind::all_of;
  std::vector<Node> parts;          ///< all_of, any_of, not_of
  std::string key;                  ///< has, one_of, none_of
  std::vector<std::string> values;  ///< one_of, none_of

  friend bool operator==(const Node&, const Node&) = default;
  [[nodiscard]] bool allows(const std::map<std::string, std::string>& labels) const {
    const auto allowed = [&](const Node& part) { return part.allows(labels); };
    switch (kind) {
      case Kind::all_of:
        return std::all_of(parts.begin(), parts.end(), allowed);
      case Kind::any_of:
        return std::any_of(parts.begin(), parts.end(), allowed);
      case Kind::not_of:
        return !allowed(parts.front());
      case Kind::has:
      case Kind::one_of:
      case Kind::none_of:
        break;
    }
    const auto label = labels.find(key);
    if (kind == Kind::has) return label != labels.end() && label->second != "false";
    const bool listed = label != labels.end() &&
                        std::find(values.begin(), values.end(), label->second) != values.end();
    return listed == (kind == Kind::one_of);
  }
};

namespace {

using Node = LabelExpression::Node;

/// Recursive descent over
///   any  = all { "||" all } ;  all = unary { "&&" unary } ;  unary = "!" unary | "(" any ")" |
///   test ; test = key [ ("==" | "!=") value | ["not"] "in" "(" value { "," value } ")" ] .
/// A failure is thrown inside and leaves as the reason.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  struct Failure {
    std::string reason;
  };

  Node parse() {
    if (text_.size() > kMaxExpressionLength)
      throw Failure{"label expression: longer than " + std::to_string(kMaxExpressionLength) +
                    " characters"};
    skip_space();
    if (at_ == text_.size()) return Node{};  // all_of nothing: anywhere
    Node result = any(0);
    if (at_ != text_.size()) fail("expected && or || or the end");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Failure{"label expression, column " + std::to_string(at_ + 1) + ": " + what};
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    skip_space();
    return true;
  }

  std::string word(const char* what) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
    if (at_ == begin)
      fail(std::string("expected ") + what + " of letters, digits, '_', '-', '.' and '/'");
    std::string result(text_.substr(begin, at_ - begin));
    skip_space();
    return result;
  }

  /// True when the next word is `keyword`; takes it.
  bool take_keyword(std::string_view keyword) {
    const std::size_t end = at_ + keyword.size();
    if (text_.substr(at_, keyword.size()) != keyword) return false;
    if (end < text_.size() && is_of_word(text_[end])) return false;
    return take(keyword);
  }

  Node any(int depth) { return chain(Node::Kind::any_of, "||", depth); }

  Node chain(Node::Kind kind, std::string_view separator, int depth) {
    if (depth > kMaxExpressionDepth) fail("nested too deeply");
    const auto part = [&] {
      return kind == Node::Kind::any_of ? chain(Node::Kind::all_of, "&&", depth) : unary(depth);
    };
    Node first = part();
    if (text_.substr(at_, separator.size()) != separator) return first;
    Node result{.kind = kind, .parts = {}, .key = {}, .values = {}};
    result.parts.push_back(std::move(first));
    while (take(separator)) result.parts.push_back(part());
    return result;
  }

  Node unary(int depth) {
    if (depth > kMaxExpressionDepth) fail("nested too deeply");
    if (take("!")) {
      Node result{.kind = Node::Kind::not_of, .parts = {}, .key = {}, .values = {}};
      result.parts.push_back(unary(depth + 1));
      return result;
    }
    if (take("(")) {
      Node result = any(depth + 1);
      if (!take(")")) fail("expected )");
      return result;
    }
    return test();
  }

  Node test() {
    Node result{.kind = Node::Kind::has, .parts = {}, .key = word("a label"), .values = {}};
    if (take("==")) {
      result.kind = Node::Kind::one_of;
      result.values.push_back(word("a value"));
    } else if (take("!=")) {
      result.kind = Node::Kind::none_of;
      result.values.push_back(word("a value"));
    } else if (take_keyword("in")) {
      result.kind = Node::Kind::one_of;
      result.values = values();
    } else if (take_keyword("not")) {
      if (!take_keyword("in")) fail("expected in after not");
      result.kind = Node::Kind::none_of;
      result.values = values();
    }
    return result;
  }

  std::vector<std::string> values() {
    if (!take("(")) fail("expected ( and a list of values");
    std::vector<std::string> result;
    do {
      result.push_back(word("a value"));
    } while (take(","));
    if (!take(")")) fail("expected , or )");
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

LabelExpression::LabelExpression() = default;
LabelExpression::~LabelExpression() = default;
LabelExpression::LabelExpression(const LabelExpression&) = default;
LabelExpression& LabelExpression::operator=(const LabelExpression&) = default;

std::variant<LabelExpression, std::string> LabelExpression::parse(std::string_view text) {
  try {
    LabelExpression result;
    result.root_ = std::make_shared<const Node>(Parser(text).parse());
    result.text_digest_ = std::hash<std::string_view>{}(text);
    return result;
  } catch (const Parser::Failure& failure) {
    return failure.reason;
  }
}

bool operator==(const LabelExpression& a, const LabelExpression& b) {
  if (a.root_ == b.root_) return true;
  return a.root_ != nullptr && b.root_ != nullptr && *a.root_ == *b.root_;
}

bool LabelExpression::allows(const std::map<std::string, std::string>& labels) const {
  return root_ == nullptr || root_->allows(labels);
}

bool PlacementRule::allows(const NodeTraits& node) const {
  const bool site_allowed =
      sites.empty() || std::find(sites.begin(), sites.end(), node.site) != sites.end();
  const auto has_device = [&](const std::string& name) {
    return std::any_of(node.devices.begin(), node.devices.end(), [&](const NodeDevices& kind) {
      return std::find(kind.names.begin(), kind.names.end(), name) != kind.names.end();
    });
  };
  return site_allowed && labels.allows(node.labels) &&
         std::all_of(devices.begin(), devices.end(), has_device);
}

}  // namespace fairwater::inline policy::inline allocator
