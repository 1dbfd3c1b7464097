#include "malleable/model/map_reduce.hpp"

#include <string>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"

namespace malleable {

namespace {

// The units of the reduce tasks of job j together.
std::int64_t reduce_units(const MapReduceView& jobs, std::size_t j) {
  std::int64_t total = 0;
  for (auto k = jobs.task_offset[j]; k < jobs.task_offset[j + 1]; ++k) {
    const std::int64_t units = jobs.task[static_cast<std::size_t>(k)];
    if (units < 1 || units > kMostUnits) {
      throw FieldError("reduce", j, static_cast<long long>(units),
                       "a task's units must be from 1 to 2^40");
    }
    total += units;
    if (total > kMostUnits) {
      throw FieldError("reduce", j, static_cast<long long>(total),
                       "a job's units must add up to at most 2^40");
    }
  }
  return total;
}

}  // namespace

// Tables of jobs for steps: a unit is one machine for one step.
void validate(const MapReduceView& jobs) {
  const std::size_t n = jobs.size();
  check_length("arrival", jobs.arrival.size(), n, "map");
  if (jobs.task_offset.empty()) check_length("reduce", 0, n > 0 ? n : 1, "map");
  check_length("reduce", jobs.task_offset.size() - 1, n, "map");
  if (jobs.task_offset.front() != 0 ||
      jobs.task_offset.back() != static_cast<std::int64_t>(jobs.task.size())) {
    throw std::invalid_argument("reduce offsets do not match the tasks");
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (jobs.task_offset[j + 1] < jobs.task_offset[j]) {
      throw std::invalid_argument("reduce offsets decrease");
    }
  }
  std::int64_t everything = 0;
  for (std::size_t j = 0; j < n; ++j) {
    if (jobs.arrival[j] < 1 || jobs.arrival[j] > kLastStep) {
      throw FieldError("arrival", j, static_cast<long long>(jobs.arrival[j]),
                       "must be a step from 1 to 2^50");
    }
    if (jobs.map[j] < 0 || jobs.map[j] > kMostUnits) {
      throw FieldError("map", j, static_cast<long long>(jobs.map[j]), "must be from 0 to 2^40");
    }
    const std::int64_t total = reduce_units(jobs, j);
    everything += jobs.map[j] + total;
    if (everything > kMostWork) {
      throw FieldError("reduce", j, static_cast<long long>(total),
                       "with it the work of the table is above 2^52 units");
    }
  }
}

void validate_machines(std::int64_t machines) {
  if (machines < 1 || machines > kMostUnits) {
    throw std::invalid_argument("machines = " + std::to_string(machines) +
                                ": must be at least 1 and at most 2^40");
  }
}

}  // namespace malleable
