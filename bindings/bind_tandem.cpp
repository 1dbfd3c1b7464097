// The queue of two stations, map and shuffle, for Python, its lower bound, and batches of jobs.
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "arrays.hpp"
#include "malleable/kernel/srpt_bound.hpp"
#include "malleable/kernel/tandem_batch_bound.hpp"
#include "malleable/kernel/tandem_makespan.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/sim/tandem.hpp"
#include "malleable/sim/tandem_batch.hpp"
#include "means.hpp"
#include "use_guard.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;

void check_column(const char* field, std::span<const double> values, std::size_t count) {
  check_length(field, values.size(), count, "map");
  check_amounts(field, values, kWorkRange);
}

void check_batch(std::span<const double> map, std::span<const double> shuffle) {
  check_column("shuffle", shuffle, map.size());
  check_column("map", map, map.size());
  if (map.size() > std::numeric_limits<Index>::max()) {
    throw std::invalid_argument("map: too many jobs");
  }
}

void check_arrivals(std::span<const double> arrival, std::size_t count, double now) {
  check_length("arrival", arrival.size(), count, "map");
  check_times("arrival", arrival);
  for (std::size_t j = 0; j < count; ++j) {
    if (arrival[j] < now) throw FieldError("arrival", j, arrival[j], "before what came earlier");
    now = arrival[j];
  }
}

// The plan of a batch is a policy of the queue that takes both orders from the jobs' columns.
constexpr const char* kGivenOrders = "order";

// The options of the queue for a policy; `k`: the most jobs that map at once.
TandemOptions options_of(const std::string& policy, std::int64_t k, bool conserving) {
  TandemOptions options;
  if (policy == kGivenOrders) {
    options.policy = TandemPolicy::kOrder;
    return options;
  }
  const Promises& promises = find_policy(Model::kTandem, policy).promises;
  options.policy = policy_code<TandemPolicy>(Model::kTandem, policy);
  options.conserving = conserving || !promises.may_idle;
  options.weighted = promises.shares == Shares::kWeighted;
  if (policy == "k-lps") options.most_mapping = k;
  return options;
}

void check_optional(const char* field, std::span<const double> values, std::size_t count,
                    bool wanted) {
  if (wanted || !values.empty()) check_column(field, values, count);
}

py::dict summary_of(const TandemQueue& queue) {
  const TandemTotals& t = queue.totals();
  const auto done = static_cast<double>(t.completed);
  py::dict d;
  d["jobs"] = t.completed;
  d["unfinished"] = queue.present();
  d["events"] = t.events;
  d["end"] = t.now;
  d["mean_response"] = mean_over(t.response, done);
  d["weighted_response"] = t.weighted_response;
  d["mean_stretch"] = mean_over(t.stretch, done);
  d["max_response"] = t.max_response;
  d["longest_wait"] = t.longest_wait;
  d["p50"] = queue.response_quantile(0.5);
  d["p90"] = queue.response_quantile(0.9);
  d["p95"] = queue.response_quantile(0.95);
  d["p99"] = queue.response_quantile(0.99);
  d["map_utilisation"] = mean_over(t.map_busy, t.now, 0.0);
  d["shuffle_utilisation"] = mean_over(t.shuffle_busy, t.now, 0.0);
  d["mean_jobs"] = mean_over(t.jobs_seconds, t.now, 0.0);
  return d;
}

// The queue with the arguments that it was made with, which say which columns it needs.
struct BoundQueue : TandemQueue {
  explicit BoundQueue(const TandemOptions& given) : TandemQueue(given), options(given) {
    set_poll([] {  // lets Ctrl-C through
      py::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
  }
  TandemOptions options;
  Busy busy;
};

struct BoundBound : SrptBound {
  Busy busy;
};

struct BoundBatch : TandemBatch {
  using TandemBatch::TandemBatch;
  Busy busy;
};

// The places of every job in the orders of both stations, or the name of a better policy.
py::tuple plan_of(const BoundBatch& batch) {
  const UseGuard guard(batch.busy);
  std::vector<double> map_place, shuffle_place;
  const TandemPolicy policy = batch.plan(map_place, shuffle_place);
  const bool ordered = policy == TandemPolicy::kOrder;
  return py::make_tuple(ordered ? kGivenOrders : find_policy(Model::kTandem, policy).name,
                        to_numpy(std::move(map_place)), to_numpy(std::move(shuffle_place)));
}

void bind_batches(py::module_& module) {
  module.def(
      "tandem_makespan",
      [](const Doubles& map, const Doubles& shuffle) {
        check_batch(view(map), view(shuffle));
        std::vector<Index> order;
        std::vector<double> completion(view(map).size());
        {
          py::gil_scoped_release release;
          order = makespan_order(view(map), view(shuffle));
          order_completions(view(map), view(shuffle), order, completion);
        }
        return py::make_tuple(to_numpy(order), to_numpy(std::move(completion)));
      },
      py::arg("map").noconvert(), py::arg("shuffle").noconvert());
  module.def(
      "tandem_batch_bound",
      [](const Doubles& map, const Doubles& shuffle) {
        check_batch(view(map), view(shuffle));
        py::gil_scoped_release release;
        return tandem_batch_bound(view(map), view(shuffle));
      },
      py::arg("map").noconvert(), py::arg("shuffle").noconvert());
  py::class_<BoundBatch>(module, "TandemBatch")
      .def(py::init([](const Doubles& map, const Doubles& shuffle) {
             check_batch(view(map), view(shuffle));
             py::gil_scoped_release release;
             return BoundBatch(view(map), view(shuffle));
           }),
           py::arg("map").noconvert(), py::arg("shuffle").noconvert())
      .def("search", guarded<BoundBatch>(&TandemBatch::search), py::arg("candidates"),
           py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("tried", guarded<BoundBatch>(&TandemBatch::tried))
      .def("plan", &plan_of);
}

}  // namespace

void bind_tandem(py::module_& module) {
  bind_batches(module);
  py::class_<BoundQueue>(module, "TandemQueue")
      .def(py::init([](const std::string& policy, std::int64_t k, bool conserving, bool overlap,
                       bool records, bool estimated, std::int64_t buckets, double bucket_width) {
             TandemOptions options = options_of(policy, k, conserving);
             options.overlap = overlap;
             options.records = records;
             options.estimated = estimated;
             options.buckets = buckets;
             options.bucket_width = bucket_width;
             return std::make_unique<BoundQueue>(options);
           }),
           py::arg("policy"), py::arg("k"), py::arg("conserving") = true, py::arg("overlap") = true,
           py::arg("records") = false, py::arg("estimated") = false, py::arg("buckets") = 0,
           py::arg("bucket_width") = 1.0)
      .def(
          "feed",
          [](BoundQueue& queue, const Doubles& arrival, const Doubles& map, const Doubles& shuffle,
             const Doubles& weight, const Doubles& map_estimate, const Doubles& shuffle_estimate,
             const Doubles& map_place, const Doubles& shuffle_place) {
            const std::size_t count = view(map).size();
            const bool estimated = queue.options.estimated;
            const bool ordered = queue.options.policy == TandemPolicy::kOrder;
            const UseGuard guard(queue.busy);
            check_arrivals(view(arrival), count, queue.totals().now);
            check_column("map", view(map), count);
            check_column("shuffle", view(shuffle), count);
            check_column("weight", view(weight), count);
            check_optional("map_estimate", view(map_estimate), count, estimated);
            check_optional("shuffle_estimate", view(shuffle_estimate), count, estimated);
            check_optional("map_place", view(map_place), count, ordered);
            check_optional("shuffle_place", view(shuffle_place), count, ordered);
            py::gil_scoped_release release;
            queue.feed({view(arrival), view(map), view(shuffle), view(weight), view(map_estimate),
                        view(shuffle_estimate), view(map_place), view(shuffle_place)});
          },
          py::arg("arrival").noconvert(), py::arg("map").noconvert(),
          py::arg("shuffle").noconvert(), py::arg("weight").noconvert(),
          py::arg("map_estimate").noconvert(), py::arg("shuffle_estimate").noconvert(),
          py::arg("map_place").noconvert(), py::arg("shuffle_place").noconvert())
      .def(
          "advance",
          [](BoundQueue& queue, double until) {
            const UseGuard guard(queue.busy);
            queue.advance(until);
          },
          py::arg("until"), py::call_guard<py::gil_scoped_release>())
      .def("summary",
           [](const BoundQueue& queue) {
             const UseGuard guard(queue.busy);
             return summary_of(queue);
           })
      .def_property_readonly("total_response",
                             [](const BoundQueue& queue) {
                               const UseGuard guard(queue.busy);
                               return queue.totals().response;
                             })
      .def("take_records",
           [](BoundQueue& queue) {
             const UseGuard guard(queue.busy);
             auto id = std::exchange(queue.done_id, {});
             auto start = std::exchange(queue.done_start, {});
             auto map = std::exchange(queue.done_map, {});
             auto completion = std::exchange(queue.done_completion, {});
             return py::make_tuple(to_numpy(std::move(id)), to_numpy(std::move(start)),
                                   to_numpy(std::move(map)), to_numpy(std::move(completion)));
           })
      .def("slowdown",
           [](const BoundQueue& queue) {
             const UseGuard guard(queue.busy);
             return counts_and_means(queue.bucket_jobs, queue.bucket_stretch);
           })
      // of the jobs in the system: (ids, map left, shuffle left, ready part of it)
      .def("state",
           [](const BoundQueue& queue) {
             const UseGuard guard(queue.busy);
             std::vector<std::int64_t> id;
             std::vector<double> map, shuffle, ready;
             for (const FluidJob& job : queue.jobs()) {
               if (!job.alive) continue;
               id.push_back(job.id);
               map.push_back(job.map);
               shuffle.push_back(job.shuffle());
               ready.push_back(job.buffer);
             }
             return py::make_tuple(to_numpy(std::move(id)), to_numpy(std::move(map)),
                                   to_numpy(std::move(shuffle)), to_numpy(std::move(ready)));
           })
      .def("running", [](BoundQueue& queue) {
        const UseGuard guard(queue.busy);
        std::vector<std::int64_t> id;
        std::vector<double> map, shuffle;
        for (const TandemQueue::Service& s : queue.decide()) {
          if (s.map == 0.0 && s.shuffle == 0.0) continue;
          id.push_back(queue.job(s.row).id);
          map.push_back(s.map);
          shuffle.push_back(s.shuffle);
        }
        return py::make_tuple(to_numpy(std::move(id)), to_numpy(std::move(map)),
                              to_numpy(std::move(shuffle)));
      });
  py::class_<BoundBound>(module, "SrptBound")
      .def(py::init<>())
      .def(
          "feed",
          [](BoundBound& bound, const Doubles& arrival, const Doubles& map,
             const Doubles& shuffle) {
            const std::size_t count = view(map).size();
            const UseGuard guard(bound.busy);
            check_arrivals(view(arrival), count, 0.0);
            check_column("map", view(map), count);
            check_column("shuffle", view(shuffle), count);
            py::gil_scoped_release release;
            bound.feed(view(arrival), view(map), view(shuffle));
          },
          py::arg("arrival").noconvert(), py::arg("map").noconvert(),
          py::arg("shuffle").noconvert())
      .def("total", guarded<BoundBound>(&SrptBound::total),
           py::call_guard<py::gil_scoped_release>());
}

}  // namespace malleable::bindings
