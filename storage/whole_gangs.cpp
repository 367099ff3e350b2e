#include "storage/whole_gangs.hpp"

#include <set>
#include <utility>

#include "state/gang.hpp"
#include "state/job.hpp"

namespace fairwater::inline storage {
namespace {

/// Those of its tasks that run and are not in the list follow in it.
void reclaim_whole(State& state, const JobRecord& gang, TasksReclaimed& body) {
  std::set<TaskKey> listed;
  for (const Reclaim& reclaim : body.tasks) listed.insert(reclaim.task);
  for (std::uint32_t index = 0; index < gang.tasks.total; ++index) {
    const TaskRecord* task = state.tasks.find(task_key(gang.id, index));
    if (!task || task->state != TaskState::running) continue;
    const TaskKey key = run_of(gang.id, index, *task);
    if (!listed.contains(key)) body.tasks.push_back({task->node, key, gang.tenant, {}, {}});
  }
}

void reclaim_gangs_whole(State& state, TasksReclaimed& body) {
  std::set<JobId> jobs;
  for (const Reclaim& reclaim : body.tasks) {
    const TaskRecord* task = state.tasks.find(task_key(reclaim.task.job, reclaim.task.index));
    if (task && is_run(*task, reclaim.node, reclaim.task)) jobs.insert(reclaim.task.job);
  }
  for (const JobId id : jobs)
    if (const JobRecord* job = state.jobs.find(key_of(id)); job && job->spec.gang)
      reclaim_whole(state, *job, body);
}

std::vector<TaskKey> note_room_made(State& state, TasksFinished& body) {
  std::vector<TaskKey> made;
  for (TaskResult& result : body.results) {
    const TaskRecord* task = state.tasks.find(task_key(result.task.job, result.task.index));
    if (!task || !task->reclaimed || !is_run(*task, body.node, result.task)) continue;
    const JobRecord* job = state.jobs.find(key_of(result.task.job));
    if (!job || !makes_room(*job, *task, result)) continue;
    result = made_room(std::move(result));
    made.push_back(result.task);
  }
  return made;
}

}  // namespace

std::vector<TaskKey> take_gangs_whole(State& state, JournalRecord& record) {
  if (auto* reclaimed = std::get_if<TasksReclaimed>(&record.body))
    reclaim_gangs_whole(state, *reclaimed);
  if (auto* finished = std::get_if<TasksFinished>(&record.body))
    return note_room_made(state, *finished);
  return {};
}

}  // namespace fairwater::inline storage
