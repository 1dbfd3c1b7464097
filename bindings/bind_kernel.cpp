#include <optional>

#include "arrays.hpp"
#include "malleable/kernel/laxity_packing.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/kernel/resource_allocation.hpp"
#include "malleable/kernel/waterline.hpp"
#include "malleable/model/jobs.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

// Kept between the calls of a thread: most of a call on new memory goes into the system's making
// pages of it.
struct Workspace {
  Problem problem;
  ResourceAllocation allocation;
  MalleablePacking packing;
  LaxityPacking laxity;
  std::vector<double> ended, chosen;
  std::vector<Index> order;
  std::vector<std::uint8_t> seen;
};

Workspace& workspace() {
  thread_local Workspace kept;
  return kept;
}

// `ended`: when those without work did; now, if it is empty.
const Problem& problem_of(const JobsView& jobs, std::int64_t slots, double now, bool gang,
                          std::span<const double> ended = {}) {
  validate_slots(slots);
  Workspace& own = workspace();
  if (ended.empty()) {
    own.ended.assign(jobs.size(), now);
    ended = own.ended;
  }
  own.problem.build(jobs.work, ended, jobs.min_slots, jobs.max_slots, slots, now,
                    gang ? MinMode::kGang : MinMode::kGuarantee);
  return own.problem;
}

void take_permutation(std::span<const std::int64_t> rows, std::size_t count, Workspace& own) {
  const auto wrong = [] {
    return std::invalid_argument("order: expected every job row exactly once");
  };
  if (rows.size() != count) throw wrong();
  own.order.resize(count);
  own.seen.assign(count, 0);
  for (std::size_t p = 0; p < count; ++p) {
    const auto row = static_cast<std::size_t>(rows[p]);
    if (row >= count || own.seen[row]) throw wrong();
    own.seen[row] = 1;
    own.order[p] = static_cast<Index>(row);
  }
}

std::vector<std::int64_t> whole_numbers(const std::vector<double>& slots) {
  return {slots.begin(), slots.end()};
}

py::tuple resource_allocation(const Jobs& jobs, std::int64_t slots, double now, bool gang,
                              const Penalties& penalties, bool is_max, std::size_t effort,
                              const std::optional<Integers>& table_offset,
                              const std::optional<Integers>& table_slots,
                              const std::optional<Doubles>& table_duration) {
  Workspace& own = workspace();
  AllocationResult result;
  {
    const Problem& problem = problem_of(jobs, slots, now, gang, jobs.terms().arrival);
    if (penalties.size() != problem.size()) {
      throw std::invalid_argument("penalties and jobs differ in length");
    }
    SpeedupTable table;
    const bool given = table_offset.has_value();
    if (given) {
      const auto offset = view(*table_offset), counts = view(*table_slots);
      const auto duration = view(*table_duration);
      table.offset.assign(offset.begin(), offset.end());
      table.slots.assign(counts.begin(), counts.end());
      table.duration.assign(duration.begin(), duration.end());
    }
    py::gil_scoped_release release;
    if (given) table.complete();
    own.chosen.resize(problem.size());
    result = own.allocation.run(problem, penalties, aggregate_of(is_max), {}, effort, own.chosen,
                                given ? &table : nullptr);
  }
  return py::make_tuple(to_numpy(whole_numbers(own.chosen)), result.value, result.lower_bound,
                        result.exact);
}

Doubles malleable_packing(const Jobs& jobs, std::int64_t slots, bool gang, const Integers& order) {
  std::vector<double> completion;
  {
    const Problem& problem = problem_of(jobs, slots, 0.0, gang);
    Workspace& own = workspace();
    take_permutation(view(order), problem.size(), own);
    completion.resize(problem.size());
    py::gil_scoped_release release;
    own.packing.run(problem, own.order, completion);
  }
  return to_numpy(std::move(completion));
}

Doubles laxity_packing(const Jobs& jobs, std::int64_t slots, double now, const Integers& order) {
  std::vector<double> completion;
  {
    const Problem& problem = problem_of(jobs, slots, now, false);
    Workspace& own = workspace();
    take_permutation(view(order), problem.size(), own);
    completion.resize(problem.size());
    const std::span<const double> deadline = jobs.terms().deadline;
    std::vector<double> due(deadline.begin(), deadline.end());
    for (double& d : due) d -= now;
    py::gil_scoped_release release;
    own.laxity.run(problem, own.order, due, completion);
  }
  return to_numpy(std::move(completion));
}

Integers waterline(const Jobs& jobs, std::int64_t slots, bool weighted, bool gang) {
  const JobsView table = jobs;
  std::vector<double> given(table.size());
  {
    const Problem& problem = problem_of(table, slots, 0.0, gang);
    py::gil_scoped_release release;
    Waterline().allocate(problem, weighted ? table.weight : std::span<const double>(), given);
  }
  return to_numpy(whole_numbers(given));
}

}  // namespace

void bind_kernel(py::module_& module) {
  module.attr("KNAPSACK_EFFORT") = kKnapsackEffort;
  module.def("resource_allocation", &resource_allocation, py::arg("jobs"), py::arg("slots"),
             py::arg("now"), py::arg("gang"), py::arg("penalties"), py::arg("is_max"),
             py::arg("effort"), py::arg("table_offset").noconvert() = py::none(),
             py::arg("table_slots").noconvert() = py::none(),
             py::arg("table_duration").noconvert() = py::none());
  module.def("malleable_packing", &malleable_packing, py::arg("jobs"), py::arg("slots"),
             py::arg("gang"), py::arg("order").noconvert());
  module.def("laxity_packing", &laxity_packing, py::arg("jobs"), py::arg("slots"), py::arg("now"),
             py::arg("order").noconvert());
  module.def("waterline", &waterline, py::arg("jobs"), py::arg("slots"), py::arg("weighted"),
             py::arg("gang"));
}

}  // namespace malleable::bindings
