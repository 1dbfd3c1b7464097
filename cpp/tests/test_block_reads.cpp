// Reads of blocks over disks and links: concurrent reads share a link, max-min fair.
#include <limits>
#include <vector>

#include "check.hpp"
#include "malleable/sim/block_reads.hpp"

namespace malleable::check {
namespace test_block_reads {

constexpr double kEnd = std::numeric_limits<double>::infinity();

struct Place {
  std::vector<double> rate, storage, link;

  Place(double disk, std::vector<double> links)
      : rate(links.size(), 1.0), storage(links.size(), disk), link(std::move(links)) {}
  ClusterView cluster() const { return {{}, {}, rate, {}, storage, link, true}; }
};

// Two reads out of one node, one of them to a node whose link is narrow: 6 bytes a second for the
// first, 4 for the second.
TEST(reads_by_hand) {
  const Place place(kEnd, {10.0, 10.0, 4.0});
  BlockReads reads(place.cluster());
  CHECK(reads.limited());
  reads.start(0, 1, 60.0, 7, 0.0);
  reads.start(0, 2, 60.0, 8, 0.0);
  CHECK_EQUAL(reads.reads_at(0), 2);
  CHECK(reads.stale());
  CHECK_EQUAL(reads.next_end(), kEnd);
  reads.settle(0.0);
  CHECK_EQUAL(reads.next_end(), 10.0);
  CHECK_EQUAL(reads.end_next(), 7u);
  CHECK_EQUAL(reads.reads_at(0), 1);
  reads.settle(10.0);
  CHECK_EQUAL(reads.next_end(), 15.0);
  CHECK_EQUAL(reads.end_next(), 8u);
  CHECK_EQUAL(reads.next_end(), kEnd);
  CHECK_EQUAL(reads.remote(), 120.0);
}

// Three share a disk until one stops; a node of its own reads at once where nothing is limited.
TEST(a_read_that_stops_leaves_its_part) {
  Place place(30.0, {kEnd, kEnd});
  place.storage[1] = kEnd;
  BlockReads reads(place.cluster());
  for (const Index owner : {1u, 2u, 3u}) reads.start(0, 0, 100.0, owner, 0.0);
  reads.start(1, 0, 1e9, 4, 0.0);
  reads.settle(0.0);
  CHECK_EQUAL(reads.next_end(), 0.0);
  CHECK_EQUAL(reads.end_next(), 4u);
  CHECK_EQUAL(reads.next_end(), 10.0);
  reads.stop(2);
  reads.settle(4.0);
  CHECK_EQUAL(reads.next_end(), 8.0);  // 60 bytes each at 15
  CHECK_EQUAL(reads.end_next(), 1u);
  CHECK_EQUAL(reads.end_next(), 3u);
  CHECK(!BlockReads(Place(kEnd, {kEnd, kEnd}).cluster()).limited());
}

}  // namespace test_block_reads
}  // namespace malleable::check
