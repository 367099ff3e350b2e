#include "schema/fields/convert.hpp"
#include "schema/fields/job.hpp"
#include "schema/fields/journal.hpp"
#include "storage/record_fields.hpp"

namespace fairwater::inline schema {

FAIRWATER_DEFINE_CODEC_AS(TokenGrant, wire::TokenRecord)
FAIRWATER_DEFINE_CODEC_AS(LiveJob, wire::LiveRecord)
FAIRWATER_DEFINE_CODEC_AS(TenantJob, wire::TenantJobRecord)
FAIRWATER_DEFINE_CODEC(RequestRecord)
FAIRWATER_DEFINE_CODEC(IouRecord)
FAIRWATER_DEFINE_CODEC_AS(ClassHistory, wire::ClassRecord)
FAIRWATER_DEFINE_CODEC_AS(ClassJob, wire::ClassJobRecord)
FAIRWATER_DEFINE_CODEC_AS(TenantUser, wire::UserRecord)
FAIRWATER_DEFINE_CODEC_AS(LedgerMeta, wire::MetaRecord)

}  // namespace fairwater::inline schema
