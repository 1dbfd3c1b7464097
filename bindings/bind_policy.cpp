#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/flex.hpp"
#include "plan_dict.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

// What planning needs besides its result.
struct Workshop {
  Problem problem;
  Flex flex;
  Baseline baseline;
};

// Memory that is asked for and given back with every call costs a small plan a fifth of its time:
// a thread keeps the workshop of its last one, unless it grew large or something was thrown.
class Lease {
 public:
  Lease() : workshop_(std::move(kept())) {
    if (workshop_ == nullptr) workshop_ = std::make_unique<Workshop>();
  }
  ~Lease() {
    constexpr std::size_t kMostKept = 10000;  // jobs; some MB
    const bool whole = std::uncaught_exceptions() == before_;
    if (whole && workshop_->problem.size() <= kMostKept) kept() = std::move(workshop_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Workshop& operator*() const { return *workshop_; }

 private:
  static std::unique_ptr<Workshop>& kept() {
    static thread_local std::unique_ptr<Workshop> workshop;
    return workshop;
  }
  std::unique_ptr<Workshop> workshop_;
  int before_ = std::uncaught_exceptions();
};

py::dict plan(const Doubles& work, const Doubles& arrival, const Integers& min_slots,
              const Integers& max_slots, const Doubles& weight, std::int64_t slots, double now,
              bool gang, const Penalties& penalties, bool is_max, const std::string& policy,
              std::uint64_t effort, double budget, const py::object& progress) {
  validate_slots(slots);
  const auto remaining = view(work);
  if (view(arrival).size() != remaining.size() || view(min_slots).size() != remaining.size() ||
      view(max_slots).size() != remaining.size() || view(weight).size() != remaining.size() ||
      penalties.size() != remaining.size()) {
    throw std::invalid_argument("columns of different lengths");
  }
  FlexOptions options{effort, budget};
  if (!progress.is_none()) {
    options.progress = [&progress, effort](std::uint64_t tried) {
      const py::gil_scoped_acquire acquire;
      progress(tried, effort);
    };
  }
  Plan result;
  {
    py::gil_scoped_release release;
    const Lease lease;
    auto& [problem, flex, baseline] = *lease;
    problem.build(remaining, view(arrival), view(min_slots), view(max_slots), slots, now,
                  gang ? MinMode::kGang : MinMode::kGuarantee);
    if (policy == "flex") {
      flex.plan(problem, penalties, aggregate_of(is_max), options, result);
    } else if (policy == "flex-generic") {
      flex.plan_generic(problem, penalties, aggregate_of(is_max), true, result);
    } else if (policy == "fifo") {
      baseline.fifo(problem, penalties, aggregate_of(is_max), view(arrival), result);
    } else if (policy == "fair") {
      baseline.waterline(problem, penalties, aggregate_of(is_max), {}, result);
    } else if (policy == "wdeq") {
      baseline.waterline(problem, penalties, aggregate_of(is_max), view(weight), result);
    } else {
      throw std::invalid_argument("policy = '" + policy + "': unknown");
    }
  }
  return plan_dict(std::move(result));
}

}  // namespace

void bind_policy(py::module_& module) {
  module.attr("DEFAULT_EFFORT") = kDefaultEffort;
  module.def("default_effort", &default_effort, py::arg("jobs"));
  module.attr("MOST_DEADLINE_PACKED") = kMostDeadlinePacked;
  module.def("plan", &plan, py::arg("work").noconvert(), py::arg("arrival").noconvert(),
             py::arg("min_slots").noconvert(), py::arg("max_slots").noconvert(),
             py::arg("weight").noconvert(), py::arg("slots"), py::arg("now"), py::arg("gang"),
             py::arg("penalties"), py::arg("is_max"), py::arg("policy"), py::arg("effort"),
             py::arg("budget"), py::arg("progress") = py::none());
}

}  // namespace malleable::bindings
