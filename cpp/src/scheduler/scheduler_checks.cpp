#include "malleable/scheduler/scheduler_checks.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"

namespace malleable {
namespace {

// Checks of the arguments of calls; they throw an error that names the field and the row.
[[noreturn]] void refuse_maximum(std::size_t k, std::int64_t most, std::int64_t least) {
  throw FieldError("max_slots", k, static_cast<long long>(most),
                   "below its minimum of " + std::to_string(least));
}

void check_maxima(const ClusterJobsView& jobs) {
  for (std::size_t k = 0; k < jobs.max_slots.size(); ++k) {
    for (const Phase p : {kMap, kReduce}) {
      const std::int64_t least = jobs.minimum_of(p, k);
      if (jobs.max_slots[k] < least) refuse_maximum(k, jobs.max_slots[k], least);
    }
  }
}

}  // namespace

void check_whole(const char* field, std::span<const std::int64_t> values, std::int64_t least,
                 std::int64_t most) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] >= least && values[k] <= most) continue;
    throw FieldError(field, k, static_cast<long long>(values[k]),
                     "must be from " + std::to_string(least) + " to " + std::to_string(most));
  }
}

void check_people(const char* field, std::span<const Scheduler::Person> people) {
  for (std::size_t k = 0; k < people.size(); ++k) {
    for (const double amount : {people[k].minimum, people[k].priority}) {
      if (!kWeightRange.holds(amount)) throw FieldError(field, k, amount, kWeightRange.text);
    }
  }
}

// Checks numbers of users, some of which are new in this call; a scheduler without users has one
// user.
void Scheduler::check_users(std::span<const std::int64_t> users,
                            std::span<const Person> people) const {
  check_people("user", people);
  const std::size_t known = std::max<std::size_t>(this->users() + people.size(), 1);
  check_whole("user", users, 0, static_cast<std::int64_t>(known) - 1);
}

void Scheduler::check(const Additions& jobs) const {
  const std::size_t count = jobs.arrival.size();
  const auto last = static_cast<std::int64_t>(count) - 1;
  check_times("arrival", jobs.arrival);
  ClusterJobsView::each(
      [&]<typename T>(const ClusterColumn& column, std::span<const T> values) {
        if (column.read_by == ClusterColumn::ReadBy::kSimulation) return;
        if (column.needed) check_length(column.name, values.size(), count);
        if (column.length == ClusterColumn::Length::kRows) check_given(column.name, values, count);
        if constexpr (std::is_same_v<T, double>) {
          if (column.range != nullptr) check_amounts(column.name, values, *column.range);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          if (column.most < column.least) return;
          check_whole(column.name, values, column.least, column.most);
        }
      },
      static_cast<const ClusterJobsView&>(jobs));
  if (!jobs.node_rates.empty()) {
    validate_node_rates(nodes_.view(), jobs);
    core_.check_node_rates(jobs.node_rates);
  }
  check_maxima(jobs);
  check_deadlines(jobs.deadline);
  check_users(jobs.user, jobs.new_users);
  check_whole("program", jobs.group, -1, kMostTasks);
  check_length("flow", jobs.flow.size(), count);
  check_whole("flow", jobs.flow, 0, last);
  check_offsets("after", jobs.after_offset, count, jobs.after.size());
  check_whole("after", jobs.after, 0, last);
  if (!jobs.parents_offset.empty()) {
    check_offsets("parents", jobs.parents_offset, count, jobs.parents.size());
  }
  for (std::size_t k = 0; k < jobs.parents.size(); ++k) {
    if (row_of(jobs.parents[k]) == kNone && !was_known(jobs.parents[k])) {
      throw FieldError("parents", k, static_cast<long long>(jobs.parents[k]), "no such job");
    }
  }
}

void Scheduler::check(const Tasks& tasks) const {
  const std::size_t count = tasks.ids.size();
  check_length("phase", tasks.phase.size(), count);
  check_given("count", tasks.count, count);
  check_given("node", tasks.node, count);
  check_given("task", tasks.task, count);
  check_given("seconds", tasks.seconds, count);
  check_given("copying", tasks.copying, count);
  const auto check_seconds = [](const char* field, std::span<const double> column, std::size_t k) {
    if (column.empty() || std::isnan(column[k]) || kWorkRange.holds(column[k])) return;
    throw FieldError(field, k, column[k], kWorkRange.text);
  };
  for (std::size_t k = 0; k < count; ++k) {
    if (row_of(tasks.ids[k]) == kNone && !was_known(tasks.ids[k])) {
      throw FieldError("ids", k, static_cast<long long>(tasks.ids[k]), "no such job");
    }
    check_seconds("seconds", tasks.seconds, k);
    check_seconds("copying", tasks.copying, k);
  }
  check_whole("phase", tasks.phase, 0, 1);
  check_whole("count", tasks.count, 0, kMostTasks);
  check_whole("node", tasks.node, -1, static_cast<std::int64_t>(nodes_.rate.size()) - 1);
  check_whole("task", tasks.task, -1, kMostTasks);
}

void Scheduler::check(const Counts& counts) const {
  for (const Phase p : {kMap, kReduce}) {
    for (const auto& [field, column] :
         {std::pair{"pending", counts.pending[p]}, std::pair{"running", counts.running[p]},
          std::pair{"done", counts.done[p]}, std::pair{"failed", counts.failed[p]}}) {
      check_length(field, column.size(), counts.ids.size());
      check_whole(field, column, 0, kMostTasks);
    }
    check_given("elapsed", counts.elapsed[p], counts.ids.size());
    check_amounts("elapsed", counts.elapsed[p], kWorkRange);
    check_given("seconds", counts.seconds[p], counts.ids.size());
    for (std::size_t k = 0; k < counts.seconds[p].size(); ++k) {
      const double seconds = counts.seconds[p][k];
      if (std::isnan(seconds) || kWorkRange.holds(seconds)) continue;
      throw FieldError("seconds", k, seconds, kWorkRange.text);
    }
  }
}

// Checks minima and maxima as they would be after the change.
void Scheduler::check(const Changes& changes, std::span<const Index> rows) const {
  const std::size_t count = rows.size();
  check_given("weight", changes.weight, count);
  check_given("deadline", changes.deadline, count);
  check_given("restart", changes.restart, count);
  check_amounts("weight", changes.weight, kWeightRange);
  check_deadlines(changes.deadline);
  check_amounts("restart", changes.restart, kWeightRange);
  for (const Phase p : {kMap, kReduce}) {
    check_given("seconds", changes.seconds[p], count);
    check_given("min_slots", changes.min_slots[p], count);
    check_amounts("seconds", changes.seconds[p], kWorkRange);
    check_whole("min_slots", changes.min_slots[p], 0, kMostSlots);
  }
  check_given("max_slots", changes.max_slots, count);
  check_whole("max_slots", changes.max_slots, 0, kAllSlots);
  const auto changed = [](std::span<const std::int64_t> column, std::size_t k,
                          std::int64_t before) { return column.empty() ? before : column[k]; };
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t most = changed(changes.max_slots, k, table_.max_slots[rows[k]]);
    for (const Phase p : {kMap, kReduce}) {
      const std::int64_t least = changed(changes.min_slots[p], k, table_.min_slots[p][rows[k]]);
      if (most < least) refuse_maximum(k, most, least);
    }
  }
  check_given("user", changes.user, count);
  check_users(changes.user, changes.new_users);
}

}  // namespace malleable
