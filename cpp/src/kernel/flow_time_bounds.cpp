#include "malleable/kernel/flow_time_bounds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "malleable/kernel/virtual_srpt.hpp"

namespace malleable {
namespace {

using Slots = std::vector<std::int64_t>;  // steps, by job

std::int64_t rounded_up(std::int64_t units, std::int64_t machines) {
  return (units + machines - 1) / machines;
}

// The step after each job's last step if it has all machines to itself.
Slots ends_alone(const MapReduceView& jobs, std::int64_t machines, bool preemptive) {
  Slots ends(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto first = jobs.task.begin() + jobs.task_offset[j];
    const auto last = jobs.task.begin() + jobs.task_offset[j + 1];
    std::int64_t reduce = rounded_up(std::accumulate(first, last, std::int64_t{0}), machines);
    if (!preemptive && first != last) reduce = std::max(reduce, *std::max_element(first, last));
    ends[j] = jobs.arrival[j] + rounded_up(jobs.map[j], machines) + reduce;
  }
  return ends;
}

// The sum over all steps of the larger number of present jobs (arrived, and not ended before) in
// the two schedules. Both numbers change only at these steps.
std::int64_t most_there(const MapReduceView& jobs, Slots one, Slots other) {
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  Slots changes(jobs.arrival.begin(), jobs.arrival.end());
  changes.insert(changes.end(), one.begin(), one.end());
  changes.insert(changes.end(), other.begin(), other.end());
  std::sort(changes.begin(), changes.end());
  std::size_t came = 0, first = 0, second = 0;
  const auto pass = [](const auto& slots, std::size_t& passed, std::int64_t slot) {
    while (passed < slots.size() && slots[passed] <= slot) ++passed;
  };
  std::int64_t sum = 0;
  for (std::size_t k = 0; k + 1 < changes.size(); ++k) {
    pass(jobs.arrival, came, changes[k]);
    pass(one, first, changes[k]);
    pass(other, second, changes[k]);
    const auto there = static_cast<std::int64_t>(came - std::min(first, second));
    sum += there * (changes[k + 1] - changes[k]);
  }
  return sum;
}

}  // namespace

// Lower bounds of the total time of all jobs in the system, in steps: by SRPT on one fast machine,
// and by that together with what each job needs alone.
FlowTimeBounds flow_time_bounds(const MapReduceView& jobs, std::int64_t machines, bool preemptive) {
  Slots after(jobs.size());
  const std::int64_t forced = srpt_finish(jobs, machines, after);
  std::int64_t total = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) total += ++after[j] - jobs.arrival[j];
  const std::int64_t either =
      most_there(jobs, std::move(after), ends_alone(jobs, machines, preemptive));
  return {total, std::max(total + forced, either)};
}

}  // namespace malleable
