#include "input/tenant_file.hpp"

#include <set>
#include <utility>

#include "input/yaml_fields.hpp"

namespace fairwater {
namespace {

/// An alias can make a list contain itself; deeper than this is refused.
constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxTenants = 100'000;

Expected<QueuePolicy> parse_queue(const std::string& text) {
  if (const auto policy = queue_policy_from(text)) return *policy;
  return make_error(ErrorCode::invalid_input, "'" + text + "' is not fifo, fair or priority");
}

Expected<RunAs> parse_run_as(const std::string& text) {
  auto run_as = run_as_from(text);
  if (auto error = validate(run_as)) return error;
  return run_as;
}

class TenantReader {
 public:
  explicit TenantReader(YamlDocument& document) : document_(&document) {}

  void read_list(YamlFields& fields, const std::string& parent, int depth) {
    const auto list = fields.take("tenants");
    if (!list) return;
    if (!list->IsSequence()) return fields.refuse("tenants", *list, "must be a list of tenants");
    if (depth >= kMaxDepth)
      return fields.refuse("tenants", *list, "nested deeper than " + std::to_string(kMaxDepth));
    std::size_t index = 0;
    for (const auto& entry : *list) {
      read_tenant(entry, fields.path_of("tenants[" + std::to_string(index++) + "]."), parent,
                  depth);
      if (document_->error()) return;
    }
  }

  [[nodiscard]] std::vector<TenantSpec> take() { return std::move(specs_); }

 private:
  void read_tenant(const YAML::Node& node, const std::string& path, const std::string& parent,
                   int depth) {
    document_->remember_line(path.substr(0, path.size() - 1), node.Mark().line + 1);
    YamlFields fields{*document_, node, path};
    TenantSpec spec;
    spec.parent = parent;
    fields.text("name", spec.name);
    fields.integer("weight", spec.weight, 1, kMaxWeight);
    fields.amounts("min", spec.min);
    fields.amounts("max", spec.max);
    fields.parsed("queue", parse_queue, spec.queue);
    fields.millionths("repay", spec.repay_millionths);
    fields.boolean("may_lend", spec.may_lend);
    fields.boolean("may_borrow", spec.may_borrow);
    read_run_as(fields, spec.run_as);
    accept(spec, fields, node);
    read_list(fields, spec.name, depth + 1);
    fields.finish();
  }

  /// `run_as: alice`, `run_as: 1000:1000`, or `run_as: {user: alice, group: staff, groups: [gpu]}`.
  void read_run_as(YamlFields& fields, RunAs& run_as) {
    const auto node = fields.take("run_as");
    if (!node) return;
    if (!node->IsMap()) return fields.parsed("run_as", parse_run_as, run_as);
    YamlFields inner{*document_, *node, fields.path_of("run_as.")};
    inner.text("user", run_as.user);
    inner.text("group", run_as.group);
    inner.texts("groups", run_as.groups);
    inner.finish();
    if (!document_->error() && run_as.user.empty()) fields.refuse("run_as", *node, "needs a user");
  }

  void accept(const TenantSpec& spec, YamlFields& fields, const YAML::Node& node) {
    if (document_->error()) return;
    if (!fields.has("name")) return fields.refuse("name", node, "a tenant needs a name");
    if (!names_.insert(spec.name).second)
      return fields.refuse("name", *fields.take("name"), "'" + spec.name + "' is given twice");
    if (specs_.size() == kMaxTenants)
      return fields.refuse("name", node, "more than " + std::to_string(kMaxTenants) + " tenants");
    if (const auto error = validate(spec)) {
      const ErrorDetails said = details(error);
      document_->refuse(make_error(said.code, said.message, fields.path_of(said.field)));
    }
    specs_.push_back(spec);
  }

  YamlDocument* document_;
  std::vector<TenantSpec> specs_;
  std::set<std::string> names_;
};

}  // namespace

Expected<std::vector<TenantSpec>> parse_tenant_file(std::string_view text,
                                                    const std::string& name) {
  YamlDocument document{text, name};
  YamlFields fields{document, document.root()};
  TenantReader reader{document};
  if (!document.error() && !fields.has("tenants"))
    document.refuse("tenants", 1, "is missing: a list of tenants");
  reader.read_list(fields, "", 0);
  fields.finish();
  if (document.error()) return document.error();
  return reader.take();
}

}  // namespace fairwater
