#include "malleable/model/flows.hpp"

#include <algorithm>
#include <string>

#include "malleable/model/error.hpp"
#include "malleable/model/jobs.hpp"

namespace malleable {
void validate(const FlowsView& flows) {
  const std::size_t f = flows.flows(), n = flows.jobs();
  check_offsets("job_offset", flows.job_offset, f, n);
  check_offsets("parent_offset", flows.parent_offset, n, flows.parent.size());
  // The columns of the flows obey the rules of a job table's.
  const std::vector<double> none(f, 0.0);
  const std::vector<std::int64_t> low(f, 0), high(f, kAllSlots);
  validate(JobsView{flows.arrival, none, low, high, flows.weight, flows.deadline, flows.sla_offset,
                    flows.sla_time, flows.sla_penalty});
  const std::vector<double> zero(n, 0.0), one(n, 1.0);
  const std::vector<std::int64_t> least(n, 0), no_steps(n + 1, 0);
  const std::vector<double> due(n, 0.0);
  validate(JobsView{zero, flows.work, least, flows.max_slots, one, due, no_steps, {}, {}});
  for (std::size_t k = 0; k < f; ++k) {
    const std::int64_t first = flows.job_offset[k], end = flows.job_offset[k + 1];
    for (std::int64_t i = first; i < end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      for (std::int64_t e = flows.parent_offset[row]; e < flows.parent_offset[row + 1]; ++e) {
        const std::int64_t p = flows.parent[static_cast<std::size_t>(e)];
        if (p < first || p >= end) {
          throw FieldError("after", row, static_cast<long long>(p),
                           "not the row of a job of the same flow");
        }
      }
    }
  }
}

std::vector<std::int64_t> find_cycle(const FlowsView& flows) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  const std::size_t n = flows.jobs();
  std::vector<std::uint8_t> state(n, kNew);
  std::vector<std::int64_t> next(flows.parent_offset.begin(), flows.parent_offset.end());
  std::vector<std::int64_t> path;
  for (std::size_t root = 0; root < n; ++root) {
    if (state[root] != kNew) continue;
    path.assign(1, static_cast<std::int64_t>(root));
    state[root] = kOpen;
    while (!path.empty()) {
      const auto i = static_cast<std::size_t>(path.back());
      if (next[i] == flows.parent_offset[i + 1]) {
        state[i] = kDone;
        path.pop_back();
        continue;
      }
      const std::int64_t p = flows.parent[static_cast<std::size_t>(next[i]++)];
      const auto up = static_cast<std::size_t>(p);
      if (state[up] == kOpen) {
        path.erase(path.begin(), std::find(path.begin(), path.end(), p));
        return path;
      }
      if (state[up] == kNew) {
        state[up] = kOpen;
        path.push_back(p);
      }
    }
  }
  return {};
}

}  // namespace malleable
