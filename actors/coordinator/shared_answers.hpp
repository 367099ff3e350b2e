// Who asks the same while it is being answered waits for the next answer, which is one for all of
// them: however many ask, one question is open. Each answer is younger than what it answers.
#pragma once

#include <utility>
#include <vector>

#include <caf/all.hpp>

namespace fairwater::inline actors::inline coordinator {

template <class Answer>
class SharedAnswers {
 public:
  using Promises = std::vector<caf::typed_response_promise<Answer>>;

  /// True when the question has to be asked now, for take().
  [[nodiscard]] bool join(caf::typed_response_promise<Answer> promise) {
    waiting_.push_back(std::move(promise));
    return !std::exchange(asking_, true);
  }
  /// All whom the question that is asked now answers.
  [[nodiscard]] Promises take() { return std::exchange(waiting_, {}); }
  /// It is answered. True when it has to be asked again, for those who came meanwhile.
  [[nodiscard]] bool answered() {
    asking_ = !waiting_.empty();
    return asking_;
  }

 private:
  Promises waiting_;
  bool asking_ = false;
};

}  // namespace fairwater::inline actors::inline coordinator
