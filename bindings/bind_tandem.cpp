#include <cmath>

#include "arrays.hpp"
#include "malleable/kernel/srpt_bound.hpp"
#include "malleable/model/error.hpp"
#include "malleable/sim/tandem.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;

void check_column(const char* field, std::span<const double> values, std::size_t count) {
  if (values.size() != count) {
    throw std::invalid_argument(std::string(field) + " has " + std::to_string(values.size()) +
                                " entries but map has " + std::to_string(count));
  }
  for (std::size_t j = 0; j < count; ++j) {
    if (!(std::isfinite(values[j]) && values[j] >= 0.0)) {
      throw FieldError(field, j, values[j], "must be finite and at least 0");
    }
  }
}

void check_arrivals(std::span<const double> arrival, std::size_t count, double now) {
  check_column("arrival", arrival, count);
  for (std::size_t j = 0; j < count; ++j) {
    if (arrival[j] < now) throw FieldError("arrival", j, arrival[j], "before what came earlier");
    now = arrival[j];
  }
}

OverlapPolicy policy_of(const std::string& name) {
  if (name == "fcfs") return OverlapPolicy::kFcfs;
  if (name == "max-srpt") return OverlapPolicy::kMaxSrpt;
  if (name == "split-srpt") return OverlapPolicy::kSplitSrpt;
  if (name == "share") return OverlapPolicy::kShare;
  throw std::invalid_argument("policy = '" + name + "': not one of the core's");
}

py::dict totals_dict(const TandemQueue& queue) {
  const TandemTotals& t = queue.totals();
  py::dict d;
  d["arrived"] = t.arrived;
  d["completed"] = t.completed;
  d["events"] = t.events;
  d["now"] = t.now;
  d["response"] = t.response;
  d["weighted_response"] = t.weighted_response;
  d["stretch"] = t.stretch;
  d["max_response"] = t.max_response;
  d["map_busy"] = t.map_busy;
  d["shuffle_busy"] = t.shuffle_busy;
  d["jobs_seconds"] = t.jobs_seconds;
  return d;
}

}  // namespace

void bind_tandem(py::module_& module) {
  py::class_<TandemQueue>(module, "TandemQueue")
      .def(py::init([](const std::string& policy, bool conserving, bool overlap, bool records,
                       bool weighted, std::int64_t most_mapping, std::int64_t buckets,
                       double bucket_width) {
             TandemOptions options;
             options.policy = policy_of(policy);
             options.conserving = conserving;
             options.overlap = overlap;
             options.records = records;
             options.weighted = weighted;
             options.most_mapping = most_mapping;
             options.buckets = buckets;
             options.bucket_width = bucket_width;
             return TandemQueue(options);
           }),
           py::arg("policy"), py::arg("conserving"), py::arg("overlap"), py::arg("records"),
           py::arg("weighted"), py::arg("most_mapping"), py::arg("buckets"),
           py::arg("bucket_width"))
      .def(
          "feed",
          [](TandemQueue& queue, const Doubles& arrival, const Doubles& map, const Doubles& shuffle,
             const Doubles& weight) {
            const std::size_t count = view(map).size();
            check_arrivals(view(arrival), count, queue.totals().now);
            check_column("map", view(map), count);
            check_column("shuffle", view(shuffle), count);
            check_column("weight", view(weight), count);
            py::gil_scoped_release release;
            queue.feed(view(arrival), view(map), view(shuffle), view(weight));
          },
          py::arg("arrival").noconvert(), py::arg("map").noconvert(),
          py::arg("shuffle").noconvert(), py::arg("weight").noconvert())
      .def("advance", &TandemQueue::advance, py::arg("until"),
           py::call_guard<py::gil_scoped_release>())
      .def("totals", &totals_dict)
      .def("take_records",
           [](TandemQueue& queue) {
             auto id = std::exchange(queue.done_id, {});
             auto start = std::exchange(queue.done_start, {});
             auto map = std::exchange(queue.done_map, {});
             auto completion = std::exchange(queue.done_completion, {});
             return py::make_tuple(to_numpy(std::move(id)), to_numpy(std::move(start)),
                                   to_numpy(std::move(map)), to_numpy(std::move(completion)));
           })
      .def("slowdown",
           [](const TandemQueue& queue) {
             return py::make_tuple(copy(std::span<const std::int64_t>(queue.bucket_jobs)),
                                   copy(std::span<const double>(queue.bucket_stretch)));
           })
      .def("response_histogram",
           [](const TandemQueue& queue) {
             return copy(std::span<const std::int64_t>(queue.response_histogram));
           })
      .def("running", [](TandemQueue& queue) {
        std::vector<std::int64_t> id;
        std::vector<double> map, shuffle;
        for (const TandemQueue::Service& s : queue.decide()) {
          if (s.map == 0.0 && s.shuffle == 0.0) continue;
          id.push_back(queue.job(s.slot).id);
          map.push_back(s.map);
          shuffle.push_back(s.shuffle);
        }
        return py::make_tuple(to_numpy(std::move(id)), to_numpy(std::move(map)),
                              to_numpy(std::move(shuffle)));
      });
  py::class_<SrptBound>(module, "SrptBound")
      .def(py::init<>())
      .def(
          "feed",
          [](SrptBound& bound, const Doubles& arrival, const Doubles& map, const Doubles& shuffle) {
            const std::size_t count = view(map).size();
            check_arrivals(view(arrival), count, 0.0);
            check_column("map", view(map), count);
            check_column("shuffle", view(shuffle), count);
            py::gil_scoped_release release;
            bound.feed(view(arrival), view(map), view(shuffle));
          },
          py::arg("arrival").noconvert(), py::arg("map").noconvert(),
          py::arg("shuffle").noconvert())
      .def("total", &SrptBound::total, py::call_guard<py::gil_scoped_release>());
}

}  // namespace malleable::bindings
