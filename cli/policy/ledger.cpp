#include <utility>

#include "cli/policy/commands.hpp"
#include "cli/policy/input.hpp"
#include "policy/ledger/iou_book.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

/// Bounds the sum of all units that come into a book.
constexpr Units kMaxUnits = Units{1} << 62;

class LedgerRun {
 public:
  void add_tenant(FieldMap tenant) {
    names_.add(tenant.at("name"));
    weights_.push_back(tenant.at("weight").integer(1, kMaxTenantWeight));
    tenant.done();
  }

  void restore(const Field& field) {
    const FieldMap iou = field.object();
    const auto [debtor, creditor] = two_tenants(iou, "debtor", "creditor");
    const Units amount = counted(iou.at("units"));
    if (book_.owed(debtor, creditor) > 0) field.fail("must not come twice");
    if (book_.net(debtor) > 0 || book_.net(creditor) < 0)
      field.fail("must not make a tenant a debtor and a creditor at once");
    iou.done();
    book_.restore({debtor, creditor, amount, ++last_age_});
  }

  void operation(const Field& field) {
    const FieldMap operation = field.object();
    if (operation.has("lend")) {
      const FieldMap loan = operation.at("lend").object();
      const auto [from, to] = two_tenants(loan, "from", "to");
      book_.lend(from, to, counted(loan.at("units")));
      loan.done();
    } else if (operation.has("repay")) {
      const FieldMap repay = operation.at("repay").object();
      const auto [debtor, creditor] = two_tenants(repay, "debtor", "creditor");
      const Units amount = repay.at("units").integer(1, kMaxUnits);
      if (!book_.repay(debtor, creditor, amount))
        repay.at("units").fail("must not be more than the " +
                               std::to_string(book_.owed(debtor, creditor)) + " that is owed");
      repay.done();
    } else if (operation.has("leave")) {
      leave(operation.at("leave"));
    } else {
      operation.fail("must have one of lend, repay, leave");
    }
    operation.done();
  }

  [[nodiscard]] Json output() const {
    Json output = {{"ious", Json::array()}, {"net", Json::object()}, {"forgiven", forgiven_}};
    for (const IouBook::Iou& iou : book_.ious())
      output["ious"].push_back({{"debtor", names_.name(iou.debtor)},
                                {"creditor", names_.name(iou.creditor)},
                                {"units", iou.units}});
    for (std::uint32_t i = 0; i < names_.size(); ++i)
      if (weights_[i] > 0) append(output["net"], names_.name(i), book_.net(i));
    return output;
  }

 private:
  [[nodiscard]] std::uint32_t present(const Field& field) const {
    const std::uint32_t number = names_.number(field);
    if (weights_[number] == 0) field.fail("names a tenant that has left");
    return number;
  }

  std::pair<std::uint32_t, std::uint32_t> two_tenants(const FieldMap& fields,
                                                      std::string_view first,
                                                      std::string_view second) {
    const std::uint32_t a = present(fields.at(first));
    const std::uint32_t b = present(fields.at(second));
    if (a == b) fields.at(second).fail("must be another tenant than " + std::string(first));
    return {a, b};
  }

  /// Units that come into the book: their sum bounds every position in it.
  Units counted(const Field& field) {
    const Units amount = field.integer(1, kMaxUnits);
    if (amount > kMaxUnits - lent_) field.fail("makes the sum of all units more than 2^62");
    lent_ += amount;
    return amount;
  }

  void leave(const Field& field) {
    const std::uint32_t leaver = present(field);
    if (book_.net(leaver) < 0) field.fail("names a tenant that still owes, so it may not leave");
    weights_[leaver] = 0;
    std::vector<IouBook::MemberWeight> others;
    for (std::uint32_t i = 0; i < names_.size(); ++i)
      if (weights_[i] > 0) others.push_back({i, weights_[i]});
    forgiven_ += book_.leave(leaver, others);
  }

  TenantNames names_;
  std::vector<Weight> weights_;  ///< 0: has left
  IouBook book_;
  std::uint64_t last_age_ = 0;
  Units lent_ = 0;
  Units forgiven_ = 0;
};

}  // namespace

Json run_ledger(const Field& input) {
  const FieldMap fields = input.object();
  LedgerRun run;
  for (const Field& tenant : filled_list(fields.at("tenants"))) run.add_tenant(tenant.object());
  if (fields.has("ious"))
    for (const Field& iou : fields.at("ious").list()) run.restore(iou);
  if (fields.has("operations"))
    for (const Field& operation : fields.at("operations").list()) run.operation(operation);
  fields.done();
  return run.output();
}

}  // namespace fairwater::inline cli::inline policy_cli
