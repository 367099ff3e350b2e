// Jobs, tasks, tenants and nodes.
#include "schema/fields/cluster.hpp"
#include "schema/fields/convert.hpp"
#include "schema/fields/job.hpp"
#include "schema/fields/usage.hpp"

namespace fairwater::inline schema {

FAIRWATER_DEFINE_CODEC(TaskKey)
FAIRWATER_DEFINE_CODEC(JobSpec)
FAIRWATER_DEFINE_CODEC(TaskResult)
FAIRWATER_DEFINE_CODEC(TaskRecord)
FAIRWATER_DEFINE_CODEC(TaskCounts)
FAIRWATER_DEFINE_CODEC(JobRecord)
FAIRWATER_DEFINE_CODEC(UsageRecord)
FAIRWATER_DEFINE_CODEC(RunAs)
FAIRWATER_DEFINE_CODEC(TenantSpec)
FAIRWATER_DEFINE_CODEC(TenantRecord)
FAIRWATER_DEFINE_CODEC(NodeTraits)
FAIRWATER_DEFINE_CODEC(NodeSpec)
FAIRWATER_DEFINE_CODEC(NodeRecord)

}  // namespace fairwater::inline schema
