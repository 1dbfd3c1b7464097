#include <algorithm>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/link_shares.hpp"

namespace malleable::check {
namespace {

// Two transfers of 60 bytes out of one node at 10 bytes a second: 5 each, until the first ends.
TEST(two_share_a_link_by_hand) {
  LinkShares links;
  const std::vector<double> link{10.0, 100.0, 100.0}, storage(3, kInfinity);
  links.reset(link, storage);
  std::vector<double> end(2, 0.0);
  const auto told = [&](Index transfer, double time) { end[transfer] = time; };
  const Index first = links.start(0, 1, 60.0, 0.0);
  links.settle(0.0, told);
  CHECK_EQUAL(end[first], 6.0);
  const Index second = links.start(0, 2, 60.0, 2.0);
  links.settle(2.0, told);
  CHECK_EQUAL(end[first], 10.0);  // 40 left at 5
  CHECK_EQUAL(end[second], 14.0);
  links.stop(first);
  links.settle(10.0, told);
  CHECK_EQUAL(end[second], 12.0);  // 20 left at 10
}

// Against small time steps.
TEST(agrees_with_small_steps) {
  trials(8, 40, [](Random& random) {
    const auto nodes = static_cast<std::size_t>(integer(random, 2, 5));
    std::vector<double> link, storage;
    for (std::size_t k = 0; k < nodes; ++k) {
      link.push_back(real(random, 1.0, 5.0));
      storage.push_back(chance(random, 0.5) ? kInfinity : real(random, 1.0, 3.0));
    }
    struct Job {
      Index from, to;
      double begin, left, end = -1.0;
    };
    std::vector<Job> jobs;
    for (int k = 0; k < 8; ++k) {
      const auto from =
          static_cast<Index>(integer(random, 0, static_cast<std::int64_t>(nodes) - 1));
      const auto more =
          static_cast<Index>(integer(random, 1, static_cast<std::int64_t>(nodes) - 1));
      jobs.push_back({from, static_cast<Index>((from + more) % nodes), real(random, 0.0, 3.0),
                      real(random, 0.5, 6.0)});
    }
    std::sort(jobs.begin(), jobs.end(),
              [](const Job& a, const Job& b) { return a.begin < b.begin; });
    // By events.
    LinkShares links;
    links.reset(link, storage);
    std::vector<double> end(jobs.size(), kInfinity), found(jobs.size(), -1.0);
    std::vector<std::size_t> owner(jobs.size());
    std::size_t next = 0;
    for (std::size_t ended = 0; ended < jobs.size();) {
      const auto first = std::min_element(end.begin(), end.end());
      double now;
      if (next < jobs.size() && jobs[next].begin < *first) {
        now = jobs[next].begin;
        const Index t = links.start(jobs[next].from, jobs[next].to, jobs[next].left, now);
        owner[t] = next++;
      } else {
        now = *first;
        const auto t = static_cast<Index>(first - end.begin());
        found[owner[t]] = now;
        *first = kInfinity;
        links.stop(t);
        ++ended;
      }
      links.settle(now, [&](Index t, double time) { end[t] = time; });
      CHECK(!links.stale());
    }
    const double step = 1e-3;
    for (double now = 0.0; now < 60.0; now += step) {
      std::vector<double> count(nodes, 0.0);
      for (const Job& job : jobs) {
        if (job.begin > now || job.left <= 0.0) continue;
        count[job.from] += 1.0;
        count[job.to] += 1.0;
      }
      for (Job& job : jobs) {
        if (job.begin > now || job.left <= 0.0) continue;
        job.left -= step * std::min({storage[job.from], link[job.from] / count[job.from],
                                     link[job.to] / count[job.to]});
        if (job.left <= 0.0) job.end = now + step;
      }
    }
    for (std::size_t k = 0; k < jobs.size(); ++k) CHECK_NEAR(found[k], jobs[k].end, 30 * step);
  });
}

}  // namespace
}  // namespace malleable::check
