#include "input/tenants.hpp"

#include <utility>

#include "input/document.hpp"
#include "input/placement.hpp"

namespace fairwater::inline input {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxTenants = 100'000;

/// `none`, as listings and changes say it, is as good as no key.
std::string read_cap(const Field& field) {
  std::string cap = field.text();
  return cap == "none" ? std::string{} : cap;
}

class TenantReader {
 public:
  explicit TenantReader(const ReadTenantMore& read_more) : read_more_(&read_more) {}

  [[nodiscard]] std::vector<DeclaredTenant> read(const Field& list, int depth) {
    if (depth > kMaxDepth) list.fail("nested deeper than " + std::to_string(kMaxDepth));
    std::vector<DeclaredTenant> tenants;
    for (const Field& field : list.list()) tenants.push_back(read_one(field, depth));
    return tenants;
  }

 private:
  DeclaredTenant read_one(const Field& field, int depth) {
    if (++count_ > kMaxTenants) field.fail("more than " + std::to_string(kMaxTenants) + " tenants");
    DeclaredTenant tenant{field, {}, {}};
    TenantSpec& spec = tenant.spec;
    const FieldMap fields = field.object();
    spec.name = names_.add(fields.at("name").text(), fields.at("name"));
    fields.read("weight", spec.weight);
    if (const auto weights = fields.find("weights"))
      for (const auto& [resource, weight] : weights->entries())
        spec.weights[resource] = weight.integer(1, kMaxWeight);
    fields.read("min", spec.min);
    fields.read("max", spec.max);
    fields.read("repay", spec.repay_millionths, &Field::millionths);
    fields.read("may_lend", spec.may_lend);
    fields.read("may_borrow", spec.may_borrow);
    fields.read("lend_cap", spec.lend_cap, read_cap);
    fields.read("borrow_cap", spec.borrow_cap, read_cap);
    fields.read("placement", spec.placement, read_placement);
    (*read_more_)(fields, spec);
    if (const auto inner = fields.find("tenants")) tenant.tenants = read(*inner, depth + 1);
    fields.done();
    return tenant;
  }

  const ReadTenantMore* read_more_;
  UniqueNames names_;
  std::size_t count_ = 0;
};

/// `run_as: alice`, `run_as: 1000:1000`, or `run_as: {user: alice, group: staff, groups: [gpu]}`.
RunAs read_run_as(const Field& field) {
  if (!field.is(InputValue::Kind::mapping)) return run_as_from(field.text());
  const FieldMap fields = field.object();
  RunAs run_as;
  run_as.user = fields.at("user").text();
  fields.read("group", run_as.group);
  fields.read("groups", run_as.groups);
  fields.done();
  return run_as;
}

/// To those within, what they do not say themselves: see read_tenants(). `around`: whose they are.
void pass_down(std::vector<DeclaredTenant>& tenants, const TenantSpec* around) {
  for (DeclaredTenant& tenant : tenants) {
    TenantSpec& spec = tenant.spec;
    const FieldMap said = tenant.field.object();
    const auto pass = [&](const char* key, auto setting) {
      if (around != nullptr && !said.find(key)) spec.*setting = around->*setting;
    };
    pass("queue", &TenantSpec::queue);
    pass("repay", &TenantSpec::repay_millionths);
    pass("run_as", &TenantSpec::run_as);
    pass("placement", &TenantSpec::placement);
    if (tenant.tenants.empty()) continue;
    if (const auto error = validate(spec)) tenant.field.fail(error);
    pass_down(tenant.tenants, &spec);
    const TenantSpec plain;
    spec.queue = plain.queue;
    spec.repay_millionths = plain.repay_millionths;
    spec.run_as = plain.run_as;
    spec.placement = plain.placement;
  }
}

void add_valid(const std::vector<DeclaredTenant>& tenants, const std::string& parent,
               std::vector<TenantSpec>& specs) {
  for (const auto& [field, spec, inner] : tenants) {
    TenantSpec& added = specs.emplace_back(spec);
    if (!parent.empty() && !spec.parent.empty())
      field.object().at("parent").fail(
          "is for tenants at the top of the file: this one stands in " + parent);
    if (!parent.empty()) added.parent = parent;
    if (const auto error = validate(added)) field.fail(error);
    add_valid(inner, spec.name, specs);
  }
}

}  // namespace

QueuePolicy read_queue(const Field& field) {
  return field.choice<QueuePolicy>({{"fifo", QueuePolicy::fifo},
                                    {"fair", QueuePolicy::fair},
                                    {"priority", QueuePolicy::priority},
                                    {"shortest-first", QueuePolicy::shortest_first}});
}

std::vector<DeclaredTenant> read_tenants(const Field& list, const ReadTenantMore& read_more) {
  auto tenants = TenantReader{read_more}.read(list, 0);
  pass_down(tenants, nullptr);
  return tenants;
}

Expected<std::vector<TenantSpec>> parse_tenant_file(std::string_view text,
                                                    const std::string& name) {
  const auto document = parse_yaml(text, name);
  if (!document) return document.error();
  return document->read([](const Field& root) {
    const FieldMap file = root.object();
    const auto tenants =
        read_tenants(file.at("tenants"), [](const FieldMap& fields, TenantSpec& spec) {
          fields.read("queue", spec.queue, read_queue);
          fields.read("run_as", spec.run_as, read_run_as);
          fields.read("parent", spec.parent);
        });
    file.done();
    std::vector<TenantSpec> specs;
    add_valid(tenants, "", specs);
    return specs;
  });
}

}  // namespace fairwater::inline input
