// List policies in steps: jobs by a key, each with all machines that it can use.
#include "malleable/policy/greedy_order.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace test_greedy_order {

template <int kSign>
class NaiveOrder final : public NaivePolicy {
 public:
  void decide(std::span<const SlottedJob> jobs, std::int64_t, std::int64_t idle, bool,
              std::vector<SlottedGrant>& grants) override {
    for (const Index row : by(jobs, [](const SlottedJob& job) { return kSign * job.left(); })) {
      give(jobs, row, jobs[row].maps + jobs[row].ready, idle);
    }
    hand_over(jobs, grants);
  }
};

TEST(fifo_sorted_anew) { compare_with_naive<NaiveOrder<0>>("fifo", 1, 300); }
TEST(srpt_sorted_anew) { compare_with_naive<NaiveOrder<1>>("srpt", 2, 300); }
TEST(lrpt_sorted_anew) { compare_with_naive<NaiveOrder<-1>>("lrpt", 3, 300); }

}  // namespace test_greedy_order
}  // namespace malleable::check
