#include "malleable/model/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "malleable/model/error.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/length.hpp"

namespace malleable {
namespace {

void check_count_range(const char* field, std::span<const std::int64_t> values, std::int64_t most,
                       std::int64_t least = 0) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] < least || values[k] > most) {
      throw FieldError(field, k, static_cast<long long>(values[k]),
                       "must be from " + std::to_string(least) + " to " + std::to_string(most));
    }
  }
}

void check_bandwidths(const char* field, std::span<const double> values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] == kInfinity || (values[k] > 0.0 && kBytesRange.holds(values[k]))) continue;
    throw FieldError(field, k, values[k],
                     "must be above 0: from 1e-12 to 1e18, or infinity for no limit");
  }
}

// Times of a simulation start at 0.
void check_moments(const char* field, std::span<const double> values) {
  check_times(field, values);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] < 0.0) throw FieldError(field, k, values[k], "must be finite and at least 0");
  }
}

// Checks that rows exist and have no cycle.
void validate_after(const ClusterJobsView& jobs) {
  const std::size_t n = jobs.size();
  check_offsets("after_offset", jobs.after_offset, n, jobs.after.size());
  std::vector<std::vector<std::size_t>> followers(n);
  std::vector<std::int64_t> missing(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    missing[j] = jobs.after_offset[j + 1] - jobs.after_offset[j];
    for (std::int64_t k = jobs.after_offset[j]; k < jobs.after_offset[j + 1]; ++k) {
      const std::int64_t other = jobs.after[static_cast<std::size_t>(k)];
      if (other < 0 || other >= static_cast<std::int64_t>(n)) {
        throw FieldError("after", j, static_cast<long long>(other), "no such job");
      }
      followers[static_cast<std::size_t>(other)].push_back(j);
    }
  }
  std::vector<std::size_t> done;
  for (std::size_t j = 0; j < n; ++j) {
    if (missing[j] == 0) done.push_back(j);
  }
  for (std::size_t k = 0; k < done.size(); ++k) {
    for (const std::size_t next : followers[done[k]]) {
      if (--missing[next] == 0) done.push_back(next);
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (missing[j] > 0) {
      throw FieldError("after", j, static_cast<long long>(missing[j]),
                       "jobs that wait for each other in a circle");
    }
  }
}

constexpr std::int64_t kMostNodeSlots = std::int64_t{1} << 20;
constexpr std::int64_t kMostRows = std::int64_t{1} << 30;  // numbers of groups and users

}  // namespace

double ClusterJobsView::work_of(Phase p, std::size_t j) const {
  const auto count = static_cast<std::size_t>(tasks[p][j]);
  if (offset[p].empty()) return static_cast<double>(count) * seconds[p][j];
  double sum = 0.0;
  for (std::size_t t = 0; t < count; ++t) sum += seconds_of(p, j, t);
  return sum;
}

void validate(const ClusterView& cluster) {
  const std::size_t n = cluster.size();
  if (n == 0) throw std::invalid_argument("cluster: needs a node");
  check_length("map_slots", cluster.map_slots.size(), n, "rate");
  check_length("reduce_slots", cluster.reduce_slots.size(), n, "rate");
  check_length("type", cluster.type.size(), n, "rate");
  check_length("storage", cluster.storage.size(), n, "rate");
  check_length("link", cluster.link.size(), n, "rate");
  const auto check_optional = [n](const char* name, std::size_t length) {
    if (length > 0) check_length(name, length, n, "rate");
  };
  check_optional("partitions", cluster.partitions.size());
  check_optional("memory", cluster.memory.size());
  check_optional("gpus", cluster.gpus.size());
  check_amounts("gpus", cluster.gpus, kWeightRange);
  check_amounts("rate", cluster.rate, kRateRange);
  check_count_range("map_slots", cluster.map_slots, kMostNodeSlots);
  check_count_range("reduce_slots", cluster.reduce_slots, cluster.generic ? 0 : kMostNodeSlots);
  check_count_range("type", cluster.type, static_cast<std::int64_t>(n) - 1);
  for (const auto& [field, values] :
       {std::pair{"storage", cluster.storage}, std::pair{"link", cluster.link},
        std::pair{"memory", cluster.memory}}) {
    check_bandwidths(field, values);
  }
}

namespace {

// Checks lengths and ranges of all columns by their table.
void validate_columns(const ClusterJobsView& jobs) {
  const std::size_t n = jobs.size();
  ClusterJobsView::each(
      [&]<typename T>(const ClusterColumn& column, std::span<const T> values) {
        using enum ClusterColumn::Length;
        if (column.length == kRows && (column.needed || !values.empty())) {
          check_length(column.name, values.size(), n, "arrival");
        }
        if (column.length == kOffsets && !values.empty()) {
          check_length(column.name, values.size(), n + 1, "arrival and one more");
        }
        if constexpr (std::is_same_v<T, double>) {
          if (column.range != nullptr) check_amounts(column.name, values, *column.range);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          if (column.most < column.least) return;
          check_count_range(column.name, values, column.most, column.least);
        }
      },
      jobs);
}

void validate_phase(const ClusterJobsView& jobs, Phase p) {
  const std::size_t n = jobs.size();
  const char* const tasks = p == kMap ? "maps" : "reduces";
  const char* const seconds = p == kMap ? "map_seconds" : "reduce_seconds";
  if (jobs.offset[p].empty()) {
    check_length(seconds, jobs.seconds[p].size(), n, "arrival");
  } else {
    for (std::size_t j = 0; j < n; ++j) {
      if (jobs.offset[p][j + 1] - jobs.offset[p][j] != jobs.tasks[p][j]) {
        throw FieldError(tasks, j, static_cast<long long>(jobs.tasks[p][j]),
                         "is not the number of task times given");
      }
    }
    if (jobs.offset[p].front() != 0 ||
        jobs.offset[p].back() != static_cast<std::int64_t>(jobs.seconds[p].size())) {
      throw std::invalid_argument("offsets do not match the task times");
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double work = jobs.work_of(p, j);
    if (work > kWorkRange.most) {
      throw FieldError(seconds, j, work, "the tasks' times must add up to at most 1e15");
    }
  }
}

void validate_speedups(const ClusterJobsView& jobs) {
  const std::size_t n = jobs.size();
  if (jobs.rate_offset.front() != 0 ||
      jobs.rate_offset.back() != static_cast<std::int64_t>(jobs.rates.size())) {
    throw std::invalid_argument("speedup: offsets do not match the rates");
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (jobs.rate_offset[j] > jobs.rate_offset[j + 1]) {
      throw std::invalid_argument("speedup: offsets decrease");
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    const auto first = static_cast<std::size_t>(jobs.rate_offset[j]);
    const auto last = static_cast<std::size_t>(jobs.rate_offset[j + 1]);
    validate_rates(jobs.rates.subspan(first, last - first), j);
  }
}

}  // namespace

void validate(const ClusterJobsView& jobs) {
  const std::size_t n = jobs.size();
  check_moments("arrival", jobs.arrival);
  validate_columns(jobs);
  for (const Phase p : {kMap, kReduce}) validate_phase(jobs, p);
  check_deadlines(jobs.deadline);
  if (jobs.sla.given()) validate(jobs.sla, n, "arrival");
  for (std::size_t j = 0; j < jobs.kind.size(); ++j) {
    const Kind kind = kind_of(jobs.kind[j]);
    if (info(kind).needs_deadline) check_needed_deadline(kind, j, jobs.deadline_of(j));
  }
  check_count_range("flow", jobs.flow, static_cast<std::int64_t>(n));
  check_count_range("group", jobs.group, kMostRows);
  if (!jobs.after_offset.empty()) validate_after(jobs);
  if (!jobs.rate_offset.empty()) validate_speedups(jobs);
  const std::size_t users = jobs.user_priority.size();
  check_length("user_minimum", jobs.user_minimum.size(), users, "user_priority");
  check_count_range("user", jobs.user,
                    users == 0 ? kMostRows : static_cast<std::int64_t>(users) - 1);
}

void validate_rates(std::span<const double> rates, std::size_t row) {
  double before = 0.0;
  for (const double rate : rates) {
    if (!kRateRange.holds(rate)) {
      throw FieldError("speedup", row, rate, "must be finite and above 0: from 1e-12 to 1e12");
    }
    if (rate < before) {
      throw FieldError("speedup", row, rate, "more tasks must not do less than fewer do");
    }
    before = rate;
  }
}

void validate_node_rates(const ClusterView& cluster, const ClusterJobsView& jobs) {
  const std::size_t row = 2 * cluster.types();
  check_length("node_rates", jobs.node_rates.size(), row * jobs.size(), "types of nodes");
  for (std::size_t k = 0; k < jobs.node_rates.size(); ++k) {
    const double rate = jobs.node_rates[k];
    if (!std::isnan(rate) && !kRateRange.holds(rate)) {
      throw FieldError("node_rates", k / row, rate, kRateRange.text);
    }
  }
}

namespace {

// Checks that the nodes of its partition, all free, have room for tasks of a job that start
// together.
void check_room(const ClusterView& cluster, const ClusterJobsView& jobs, std::size_t j) {
  if (cluster.partitions.empty() && cluster.memory.empty() && cluster.gpus.empty()) return;
  const TaskNeeds needs = jobs.needs_of(j);
  const std::int64_t width = std::min(jobs.width_of(kMap, j), jobs.tasks[kMap][j]);
  std::int64_t fit = 0;
  for (std::size_t node = 0; node < cluster.size() && fit < width; ++node) {
    if (!cluster.partitions.empty() && !needs.may_run_in(cluster.partitions[node])) continue;
    fit += cluster.room_on(node).fit(needs);
  }
  if (fit < width) {
    throw FieldError("width", j, static_cast<long long>(width),
                     "the job never fits: its partition has room for " + std::to_string(fit) +
                         " of its tasks at once");
  }
}

}  // namespace

void validate_fit(const ClusterView& cluster, const ClusterJobsView& jobs) {
  if (!jobs.node_rates.empty()) validate_node_rates(cluster, jobs);
  bool runs[2] = {false, false};
  for (std::size_t n = 0; n < cluster.size(); ++n) {
    runs[kMap] |= cluster.map_slots[n] > 0;
    runs[kReduce] |= (cluster.generic ? cluster.map_slots[n] : cluster.reduce_slots[n]) > 0;
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    check_room(cluster, jobs, j);
    for (const Phase p : {kMap, kReduce}) {
      if (jobs.tasks[p][j] > 0 && !runs[p]) {
        throw FieldError(p == kMap ? "maps" : "reduces", j,
                         static_cast<long long>(jobs.tasks[p][j]),
                         "the cluster has no slot that could run them");
      }
    }
  }
}

}  // namespace malleable
