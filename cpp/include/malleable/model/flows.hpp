// Flows: DAGs of malleable jobs as a struct of arrays, and the one place where they are checked.
//
// Jobs of all flows stand in one table; flow f owns rows job_offset[f] .. job_offset[f + 1]. Job i
// waits for the rows parent[parent_offset[i] .. parent_offset[i + 1]], all of its own flow.
// Penalties are per flow, by its terms: arrival, weight, deadline, SLA steps (model/terms.hpp).
// Work is in slot-seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/speedups.hpp"
#include "malleable/model/terms.hpp"

namespace malleable {

struct FlowsView : TermsView {               // terms per flow
  std::span<const std::int64_t> job_offset;  // flows() + 1 entries
  std::span<const double> work;              // per job
  std::span<const std::int64_t> max_slots;
  std::span<const std::int64_t> parent_offset;  // jobs() + 1 entries
  std::span<const std::int64_t> parent;         // job rows
  SpeedupView speedup = {};                     // per job

  std::size_t flows() const { return arrival.size(); }
  std::size_t jobs() const { return work.size(); }
};

// Throws FieldError for the first invalid value and std::invalid_argument for lengths that differ
// or a parent in another flow. find_cycle checks for cycles. O(flows + jobs + parents).
void validate(const FlowsView& flows);

// Jobs that wait for each other in a cycle, each for the next one; empty if there is no cycle.
// O(jobs + parents).
std::vector<std::int64_t> find_cycle(const FlowsView& flows);

struct FlowColumns : TermColumns {
  std::vector<std::int64_t> job_offset;
  std::vector<double> work;
  std::vector<std::int64_t> max_slots, parent_offset, parent;
  SpeedupColumns speedup;

  FlowsView view() const {
    return {terms(), job_offset, work, max_slots, parent_offset, parent, speedup.view()};
  }
  void clear();
  // Appends a flow of another table.
  void add(const FlowsView& from, std::size_t flow);

  // Calls visit(name, column, its length, whether it may be left out) for each column.
  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    visit("job_offset", self.job_offset, kAnyLength, false);
    visit("work", self.work, kAnyLength, false);
    const std::size_t flows = self.job_offset.empty() ? 0 : self.job_offset.size() - 1;
    const std::size_t jobs = self.work.size();
    visit("max_slots", self.max_slots, jobs, true);
    visit("parent_offset", self.parent_offset, jobs + 1, false);
    visit("parent", self.parent, kAnyLength, false);
    TermColumns::each(self, flows, visit);
    SpeedupColumns::each(self.speedup, jobs, visit);
  }
};

// A valid, immutable table without cycles.
class Flows {
 public:
  // Optional columns that are empty get their defaults; the default size of a flow is all of its
  // work. Throws as validate() does, and std::invalid_argument for a cycle. O(flows + jobs +
  // parents).
  explicit Flows(FlowColumns&& columns);
  // From complete columns that are known to be valid.
  static Flows of_valid(FlowColumns&& columns);

  operator FlowsView() const { return columns_.view(); }
  FlowsView view() const { return columns_.view(); }
  TermsView terms() const { return columns_.terms(); }
  const FlowColumns& columns() const { return columns_; }

  // The flows at these rows, in this order. FieldError for a row out of range. O(jobs + parents
  // taken).
  Flows take(std::span<const std::int64_t> rows) const;
  // The flows of several tables, one table after another.
  static Flows joined(std::span<const Flows* const> tables);

 private:
  Flows() = default;
  FlowColumns columns_;
};

}  // namespace malleable
