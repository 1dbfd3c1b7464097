#include <limits>
#include <vector>

#include "check.hpp"
#include "malleable/sim/cluster_network.hpp"

namespace malleable::check {
namespace test_cluster_network {

constexpr double kEnd = std::numeric_limits<double>::infinity();

struct Place {
  std::vector<std::int64_t> slots, none, type, rack, maps, reduces;
  std::vector<double> rate, storage, link, arrival, seconds, bytes;

  Place(double disk, std::vector<double> links)
      : slots(links.size(), 1),
        none(links.size(), 0),
        type(links.size(), 0),
        rack(links.size(), 0),
        rate(slots.size(), 1.0),
        storage(slots.size(), disk),
        link(std::move(links)) {}

  void job(std::int64_t m, std::int64_t r, double shuffled) {
    arrival.push_back(0.0);
    seconds.push_back(1.0);
    maps.push_back(m);
    reduces.push_back(r);
    bytes.push_back(shuffled);
  }
  ClusterView cluster() const { return {slots, none, rate, type, rack, storage, link, true}; }
  ClusterJobsView jobs() const {
    ClusterJobsView view;
    view.arrival = arrival;
    view.tasks[kMap] = maps;
    view.tasks[kReduce] = reduces;
    view.seconds[kMap] = view.seconds[kReduce] = seconds;
    view.shuffle_bytes = bytes;
    return view;
  }
};

// Two reads out of one node, one of them to a node whose link is narrow.
TEST(reads_by_hand) {
  Place place(kEnd, {10.0, 10.0, 4.0});
  CHECK(ClusterNetwork::limits(place.cluster()));
  ClusterNetwork net;
  net.reset(place.cluster(), place.jobs());
  net.read(0, 1, 60.0, 7, 0.0);
  net.read(0, 2, 60.0, 8, 0.0);
  CHECK_EQUAL(net.reads_at(0), 2);
  CHECK(net.stale());
  net.settle(0.0);
  // 6 for the first, 4 for the second.
  CHECK_EQUAL(net.next_end(), 10.0);
  auto end = net.end_next(10.0);
  CHECK(end.has_value());
  CHECK_EQUAL(end->owner, 7u);
  CHECK_EQUAL(end->job, kNone);
  CHECK_EQUAL(end->seconds, 10.0);
  CHECK_EQUAL(net.reads_at(0), 1);
  net.settle(10.0);
  CHECK_EQUAL(net.next_end(), 15.0);
  end = net.end_next(15.0);
  CHECK_EQUAL(end->owner, 8u);
  CHECK_EQUAL(net.next_end(), kEnd);
  const auto totals = net.totals(15.0);
  CHECK_EQUAL(totals.remote, 120.0);
  CHECK_EQUAL(totals.shuffled, 0.0);
  CHECK_EQUAL(totals.busiest_link, 1.0);
  CHECK_NEAR(totals.link_use, (120.0 / 150.0 + 60.0 / 150.0 + 60.0 / 60.0) / 6.0, 1e-15);
  CHECK_EQUAL(totals.disk_use, 0.0);  // none is limited
}

// Three maps of one job on nodes 0, 0 and 1, 30 bytes each for one reduce task on node 2.
TEST(one_copy_by_hand) {
  Place place(kEnd, {10.0, 10.0, 10.0});
  place.job(3, 1, 90.0);
  ClusterNetwork net;
  net.reset(place.cluster(), place.jobs());
  CHECK(net.shuffles(0));
  net.copy(0, 2, 5);
  net.settle(0.0);
  CHECK_EQUAL(net.next_end(), kEnd);  // nothing there yet
  net.map_ended(0, 0);
  net.settle(1.0);
  CHECK_EQUAL(net.next_end(), 4.0);
  CHECK(!net.end_next(4.0));  // more is to come
  net.settle(4.0);
  net.map_ended(0, 0);
  net.settle(6.0);
  CHECK_EQUAL(net.next_end(), 9.0);
  net.map_ended(0, 1);
  net.settle(7.0);  // 20 at node 0, 30 at node 1, all at the reader's 10
  CHECK_EQUAL(net.next_end(), 12.0);
  const auto end = net.end_next(12.0);
  CHECK(end.has_value());
  CHECK_EQUAL(end->owner, 5u);
  CHECK_EQUAL(end->job, 0u);
  CHECK_EQUAL(end->node, 2u);
  CHECK_EQUAL(end->seconds, 9.0);
  CHECK_NEAR(net.totals(12.0).shuffled, 90.0, 1e-12);
  CHECK_NEAR(net.totals(12.0).remote, 90.0, 1e-12);
}

// Two of three outputs of node 0 are lost when half of everything has come: what had come of them
// need not come again.
TEST(lost_output_by_hand) {
  Place place(kEnd, {10.0, 10.0, 10.0});
  place.job(4, 1, 160.0);
  ClusterNetwork net;
  net.reset(place.cluster(), place.jobs());
  net.copy(0, 2, 5);
  for (const Index node : {0u, 0u, 0u, 1u}) net.map_ended(0, node);
  net.settle(0.0);
  CHECK_EQUAL(net.next_end(), 16.0);
  net.lose(0, 0, 8.0);
  net.lose(0, 0, 8.0);
  net.settle(8.0);
  // 20 left at node 0, 20 at node 1.
  CHECK_NEAR(net.next_end(), 12.0, 1e-12);
  CHECK(!net.end_next(12.0));
  net.settle(12.0);
  net.map_ended(0, 1);
  net.settle(13.0);  // 40 less 40
  CHECK_NEAR(net.next_end(), 13.0, 1e-12);
  CHECK(!net.end_next(net.next_end()));
  net.map_ended(0, 1);
  net.settle(20.0);
  CHECK_NEAR(net.next_end(), 24.0, 1e-12);
  CHECK(net.end_next(net.next_end()).has_value());
  CHECK_NEAR(net.totals(24.0).shuffled, 160.0, 1e-9);
}

// One transfer for each reduce task, whatever the number of maps, and a stop in the middle.
TEST(copies_stay_few) {
  Place place(50.0, {10.0, 10.0, 10.0, 10.0});
  place.job(400, 4, 4000.0);
  ClusterNetwork net;
  net.reset(place.cluster(), place.jobs());
  std::vector<Index> copies;
  for (Index k = 0; k < 4; ++k) copies.push_back(net.copy(0, k, k));
  net.settle(0.0);
  for (int map = 0; map < 400; ++map) net.map_ended(0, static_cast<Index>(map % 4));
  net.settle(1.0);
  CHECK_EQUAL(net.filled(), 4u);
  // 1000 bytes to each node, three quarters of them from others at 10 a second.
  CHECK_NEAR(net.next_end(), 1.0 + 75.0, 1e-9);
  net.stop(copies[3], 1.0 + 37.5);
  net.settle(1.0 + 37.5);
  CHECK_NEAR(net.totals(1.0 + 37.5).remote, 1500.0, 1e-9);
  std::size_t ended = 0;
  while (net.next_end() < kEnd) {
    const double now = net.next_end();
    ended += net.end_next(now).has_value() ? 1 : 0;
    net.settle(now);
  }
  CHECK_EQUAL(ended, 3u);
  CHECK_NEAR(net.totals(100.0).shuffled, 3500.0, 1e-9);
  net.forget(0);
}

}  // namespace test_cluster_network
}  // namespace malleable::check
