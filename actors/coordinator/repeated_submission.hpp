// A submission that is not the first with its request id. Pure.
#pragma once

#include <string>

#include "model/calls.hpp"
#include "model/journal.hpp"
#include "storage/records.hpp"

namespace fairwater::inline actors::inline coordinator {

/// `job` names the first one in words.
[[nodiscard]] inline caf::error request_id_taken(const std::string& id, const std::string& job) {
  return make_error(ErrorCode::already_exists,
                    "the request id '" + id + "' is that of " + job +
                        ", which asks for something else: give this one an id of its own",
                    "request_id");
}

/// The first one's job, if the same was asked for.
[[nodiscard]] inline Expected<JobAccepted> answer_again(const SubmissionRequest& again,
                                                        const RequestRecord& first) {
  if (again.hash == first.hash) return JobAccepted{first.job};
  return request_id_taken(again.id, "job " + std::to_string(first.job.value));
}

}  // namespace fairwater::inline actors::inline coordinator
