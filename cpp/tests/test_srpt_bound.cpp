// A lower bound of the total response time in two stations, map and shuffle.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/srpt_bound.hpp"
#include "malleable/sim/tandem.hpp"

namespace malleable::check {
namespace test_srpt_bound {

struct Jobs {
  std::vector<double> arrival, map, shuffle;
};

Jobs random_jobs(Random& random) {
  Jobs jobs;
  double time = 0.0;
  for (std::int64_t more = integer(random, 1, 12); more > 0; --more) {
    time += static_cast<double>(integer(random, 0, 6));
    jobs.arrival.push_back(time);
    jobs.map.push_back(static_cast<double>(integer(random, 0, 5)));
    jobs.shuffle.push_back(static_cast<double>(integer(random, 0, 5)));
  }
  return jobs;
}

// Unit by unit: at every instant the job with least left is served. Tells the responses of the jobs
// of each busy period of both stations.
double slow_bound(const Jobs& jobs) {
  const std::size_t n = jobs.arrival.size();
  std::vector<double> left[2] = {jobs.map, jobs.shuffle};
  double response[2] = {0.0, 0.0}, sum = 0.0;
  std::size_t came = 0;
  for (double time = 0.0;; time += 1.0) {
    bool busy = false;
    for (auto& own : left) {
      for (std::size_t j = 0; j < came; ++j) busy |= own[j] > 0.0;
    }
    if (!busy) {
      sum += std::max(response[0], response[1]);
      response[0] = response[1] = 0.0;
      if (came == n) return sum;
    }
    while (came < n && jobs.arrival[came] <= time) ++came;
    for (const std::size_t station : {0, 1}) {
      std::size_t least = n;
      for (std::size_t j = 0; j < came; ++j) {
        const double own = left[station][j];
        if (own > 0.0 && (least == n || own < left[station][least])) least = j;
      }
      if (least == n) continue;
      left[station][least] -= 1.0;
      if (left[station][least] == 0.0) response[station] += time + 1.0 - jobs.arrival[least];
    }
  }
}

TEST(as_unit_by_unit) {
  trials(1, 500, [](Random& random) {
    const Jobs jobs = random_jobs(random);
    SrptBound bound;
    bound.feed(jobs.arrival, jobs.map, jobs.shuffle);
    CHECK_NEAR(bound.total(), slow_bound(jobs), 1e-9 * (1.0 + bound.total()));
  });
}

TEST(parts_say_what_the_whole_says) {
  trials(2, 200, [](Random& random) {
    const Jobs jobs = random_jobs(random);
    SrptBound whole, parts;
    whole.feed(jobs.arrival, jobs.map, jobs.shuffle);
    for (std::size_t j = 0; j < jobs.arrival.size(); ++j) {
      parts.feed({&jobs.arrival[j], 1}, {&jobs.map[j], 1}, {&jobs.shuffle[j], 1});
      if (chance(random, 0.3)) parts.total();  // which changes nothing
    }
    CHECK_EQUAL(parts.total(), whole.total());
  });
}

TEST(a_batch_at_one_station_is_shortest_first) {
  SrptBound bound;
  const std::vector<double> none(3, 0.0), sizes{3.0, 1.0, 2.0};
  CHECK_EQUAL(bound.total(), 0.0);
  bound.feed(none, sizes, none);
  CHECK_EQUAL(bound.total(), 1.0 + 3.0 + 6.0);
}

}  // namespace test_srpt_bound
}  // namespace malleable::check
