// Calls of the C interface in tests: columns and tables, what a call answered, and a matcher.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "malleable/malleable.h"
#include "malleable/model/problem.hpp"

namespace malleable::check {

using Reals = std::vector<double>;
using Wholes = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

#define OK(call) CHECK_EQUAL(std::string((call) == MALLEABLE_OK ? "" : malleable_message()), "")

inline bool refused(int status, const std::string& message) {
  return status == MALLEABLE_INVALID &&
         std::string(malleable_message()).find(message) != std::string::npos;
}

// A structure that begins with its size.
template <typename Sized>
Sized sized() {
  Sized made{};
  made.bytes = sizeof(Sized);
  return made;
}
inline malleable_epoch* epoch_of(std::int64_t slots, const char* objective, const char* policy) {
  auto options = sized<malleable_epoch_options>();
  options.objective = objective;
  options.policy = policy;
  malleable_epoch* made = nullptr;
  OK(malleable_epoch_new(slots, &options, &made));
  return made;
}
inline int new_scheduler(const malleable_cluster& cluster, const char* policy, const char* options,
                         malleable_scheduler** made) {
  auto given = sized<malleable_scheduler_options>();
  given.policy = policy;
  given.options = options;
  return malleable_scheduler_new(&cluster, &given, made);
}
inline malleable_scheduler* scheduler_of(const malleable_cluster& cluster, const char* policy,
                                         const char* options = nullptr) {
  malleable_scheduler* made = nullptr;
  OK(new_scheduler(cluster, policy, options, &made));
  return made;
}
// Tells what happened to tasks; returns the number of ignored ones.
inline malleable_events events_of(const Wholes& ids, const Wholes& phase, const Wholes& tasks,
                                  const Reals& seconds = {}, const Reals& copying = {}) {
  auto made = sized<malleable_events>();
  made.count = static_cast<std::int64_t>(ids.size());
  made.ids = ids.data();
  made.phase = phase.data();
  if (!tasks.empty()) made.tasks = tasks.data();
  if (!seconds.empty()) made.seconds = seconds.data();
  if (!copying.empty()) made.copying = copying.data();
  return made;
}
inline std::int64_t tell(malleable_scheduler* scheduler, double now, const char* what,
                         malleable_events events) {
  OK(malleable_scheduler_tell(scheduler, now, what, &events));
  return events.ignored;
}
// So many rows of ids and slots.
inline malleable_decision decision_of(std::int64_t room, std::int64_t* ids = nullptr,
                                      std::int64_t* given = nullptr) {
  auto made = sized<malleable_decision>();
  made.room = room;
  made.ids = ids;
  made.given = given;
  return made;
}

struct Jobs {
  Reals work, arrival, weight, deadline;
  Wholes low, high;

  Jobs(Random& random, std::size_t n, double now) {
    for (std::size_t k = 0; k < n; ++k) {
      work.push_back(1.0 + static_cast<double>(random() % 500));
      arrival.push_back(now);
      weight.push_back(1.0 + static_cast<double>(random() % 4));
      deadline.push_back(random() % 3 == 0 ? kInfinity : now + static_cast<double>(random() % 99));
      low.push_back(static_cast<std::int64_t>(random() % 2));
      high.push_back(1 + static_cast<std::int64_t>(random() % 20));
    }
  }
  malleable_jobs view() const {
    auto jobs = sized<malleable_jobs>();
    jobs.count = static_cast<std::int64_t>(work.size());
    jobs.work = work.data();
    jobs.arrival = arrival.data();
    jobs.weight = weight.data();
    jobs.deadline = deadline.data();
    jobs.min_slots = low.data();
    jobs.max_slots = high.data();
    return jobs;
  }
};

// Nodes of generic slots.
inline malleable_cluster generic_nodes(const Wholes& slots) {
  malleable_cluster cluster{};
  cluster.nodes = static_cast<std::int64_t>(slots.size());
  cluster.generic = 1;
  cluster.map_slots = slots.data();
  return cluster;
}

// What a matcher was asked, and the shares [classes x nodes] that it answers.
struct Matcher {
  int asked = 0;
  std::int64_t classes = 0, nodes = 0;
  Reals execution, numbers, shares;

  static int answer(void* context, std::int64_t classes, std::int64_t nodes, const double*,
                    const double* execution, const double* numbers, double* shares) {
    auto& own = *static_cast<Matcher*>(context);
    ++own.asked;
    own.classes = classes;
    own.nodes = nodes;
    own.execution.assign(execution, execution + classes * nodes);
    own.numbers.assign(numbers, numbers + nodes);
    std::fill_n(shares, classes * nodes, 1.0);  // one class has come before the other
    std::copy_n(own.shares.begin(), std::min<std::size_t>(own.shares.size(), own.execution.size()),
                shares);
    return 0;
  }
};
inline malleable_scheduler_options adaptive_options(Matcher& matcher) {
  auto options = sized<malleable_scheduler_options>();
  options.policy = "adaptive-literal";
  options.adaptive = "grouped=true by_slots=true fallback=true threshold=0.2 patience=10";
  options.matcher = Matcher::answer;
  options.context = &matcher;
  return options;
}

}  // namespace malleable::check
