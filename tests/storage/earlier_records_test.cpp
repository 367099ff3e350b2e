// Records of an earlier version: tests/earlier/README.md.
#include "storage/record_fields.hpp"
#include "tests/values/earlier.hpp"

namespace fairwater::test {
namespace {

class EarlierRecords {
 public:
  template <class Value>
  void exchange(const std::string& name) {
    for (const char* kind : {".empty", ".sample"}) {
      INFO(name << kind);
      const auto found = kept_.find(name + kind);
      if (found == kept_.end()) continue;  // a kind that came since
      check_exchange<Value>(found->second);
      kept_.erase(found);
    }
  }
  [[nodiscard]] std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : kept_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, std::string> kept_ = earlier_bytes("records.txt");
};

TEST_CASE("records of an earlier version are read, and read there what is written now",
          "[unit][earlier]") {
  EarlierRecords records;
  records.exchange<JobRecord>("job");
  records.exchange<TaskRecord>("task");
  records.exchange<TenantRecord>("tenant");
  records.exchange<NodeRecord>("node");
  records.exchange<TokenGrant>("token");
  records.exchange<LiveJob>("live_job");
  records.exchange<TenantJob>("tenant_job");
  records.exchange<IouRecord>("iou");
  records.exchange<Reservation>("reservation");
  records.exchange<ClassHistory>("class_history");
  records.exchange<LedgerMeta>("meta");
  each_body([&](const auto& kind) {
    using Body = typename std::decay_t<decltype(kind)>::Value;
    records.exchange<JournalRecord>(std::string(kind_of(JournalBody(Body{}))));
  });
  CHECK(records.left() == std::vector<std::string>{});
}

}  // namespace
}  // namespace fairwater::test
