#include <cmath>

#include "cli/policy/commands.hpp"
#include "cli/policy/input.hpp"
#include "policy/elastic/elastic.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

/// Jobs by name; a job's id is its place in the input, from 1.
class JobNames {
 public:
  JobId add(const Field& field) {
    names_.push_back(unique_.add(field));
    return {names_.size()};
  }
  [[nodiscard]] const std::string& operator[](JobId id) const { return names_[id.value - 1]; }

 private:
  UniqueNames unique_;
  std::vector<std::string> names_;
};

Credit to_credit(double units) {
  const double whole = std::trunc(units);
  const double part = std::round((units - whole) * static_cast<double>(kPicounitsPerUnit));
  return {static_cast<Wide>(whole) * kPicounitsPerUnit + static_cast<Wide>(part)};
}

double to_units(Credit credit) {
  return static_cast<double>(static_cast<long double>(credit.picounits) /
                             static_cast<long double>(kPicounitsPerUnit));
}

Units read_max(const FieldMap& job, Units min) {
  const Field field = job.at("max");
  const Units max = field.integer(1, kMaxElasticUnits);
  if (max < min) field.fail("must not be below min, which is " + std::to_string(min));
  return max;
}

/// What running and queued jobs have in common.
template <class Job>
Job read_job(const FieldMap& job, JobNames& names) {
  Job result;
  result.id = names.add(job.at("id"));
  result.min = job.at("min").integer(1, kMaxElasticUnits);
  result.max = read_max(job, result.min);
  return result;
}

RunningJob read_running(const Field& field, JobNames& names) {
  const FieldMap job = field.object();
  auto result = read_job<RunningJob>(job, names);
  result.now = job.at("now").integer(result.min, result.max);
  job.done();
  return result;
}

QueuedJob read_queued(const Field& field, JobNames& names) {
  const FieldMap job = field.object();
  auto result = read_job<QueuedJob>(job, names);
  job.done();
  return result;
}

ElasticUser read_elastic_user(const Field& field, UniqueNames& users, JobNames& jobs,
                              std::vector<std::string>& names) {
  const FieldMap fields = field.object();
  names.push_back(users.add(fields.at("name")));
  ElasticUser user;
  user.quota = fields.at("quota").integer(0, kMaxElasticUnits);
  constexpr auto kMaxCredit = static_cast<double>(kMaxElasticUnits);
  user.credit = to_credit(fields.at("credit").number(-kMaxCredit, kMaxCredit));
  if (fields.has("running"))
    for (const Field& job : fields.at("running").list())
      user.running.push_back(read_running(job, jobs));
  if (fields.has("queued"))
    for (const Field& job : fields.at("queued").list())
      user.queued.push_back(read_queued(job, jobs));
  fields.done();
  return user;
}

Json list_of(const std::vector<JobUnits>& jobs, const JobNames& names) {
  Json list = Json::array();
  for (const JobUnits& job : jobs) list.push_back({{"id", names[job.id]}, {"units", job.units}});
  return list;
}

}  // namespace

Json run_qrea(const Field& input) {
  static constexpr std::string_view kPolicies[] = {"qrea", "qrea-rebalance", "bra", "crea", "fair"};
  const FieldMap fields = input.object();
  std::size_t policy = 0;
  fields.read("policy", policy, [](const Field& field) {
    return field.choice({std::begin(kPolicies), std::end(kPolicies)});
  });
  ElasticCluster cluster;
  cluster.units = fields.at("units").integer(0, kMaxElasticUnits);
  UniqueNames users;
  JobNames jobs;
  std::vector<std::string> names;
  for (const Field& user : filled_list(fields.at("users")))
    cluster.users.push_back(read_elastic_user(user, users, jobs, names));
  fields.done();
  Wide running = 0;
  for (const ElasticUser& user : cluster.users)
    for (const RunningJob& job : user.running) running += job.now;
  if (running > cluster.units)
    fields.at("units").fail("must not be below what runs now, which is " +
                            Json(static_cast<double>(running)).dump());

  const ElasticRound round = make_elastic_policy(kPolicies[policy])->round(cluster);

  Json output = {{"limit", list_of(round.limit, jobs)}};
  if (kPolicies[policy] == "fair") {
    output["kill"] = Json::array();
    for (const JobId id : round.kill) output["kill"].push_back(jobs[id]);
  }
  output["start"] = list_of(round.start, jobs);
  output["grow"] = list_of(round.grow, jobs);
  output["credit"] = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i)
    output["credit"][names[i]] = to_units(round.credit[i]);
  output["idle"] = round.idle;
  return output;
}

}  // namespace fairwater::inline cli::inline policy_cli
