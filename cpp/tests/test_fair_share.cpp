// The fair policy in steps: equal numbers of machines.
#include "malleable/policy/fair_share.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace test_fair_share {

// One machine after another to the job that holds least, the oldest first.
class NaiveFair final : public NaivePolicy {
 public:
  void decide(std::span<const SlottedJob> jobs, std::int64_t, std::int64_t idle, bool,
              std::vector<SlottedGrant>& grants) override {
    while (idle > 0) {
      const auto order = by(jobs, [&](const SlottedJob& job) {
        const auto row = static_cast<Index>(&job - jobs.data());
        return static_cast<double>(job.running + given_[row]);
      });
      const auto next = std::find_if(order.begin(), order.end(), [&](Index row) {
        return jobs[row].maps + jobs[row].ready > given_[row];
      });
      if (next == order.end()) break;
      give(jobs, *next, 1, idle);
    }
    hand_over(jobs, grants);
  }
};

TEST(fair_one_machine_at_a_time) { compare_with_naive<NaiveFair>("fair", 1, 400); }

TEST(fair_remainder_goes_to_the_oldest) {
  FairShare fair;
  std::vector<SlottedJob> jobs(3);
  std::vector<SlottedGrant> grants;
  for (Index row = 0; row < 3; ++row) {
    jobs[row] = {2 - static_cast<std::int64_t>(row), 5, 0, 0, 5.0, 0.0};
  }
  // Arrival in the order of the sequence: rows 2, 1, 0.
  for (const Index row : {2u, 1u, 0u}) fair.arrive(jobs, row);
  fair.decide(jobs, 8, 8, true, grants);
  std::map<Index, std::int64_t> machines;
  for (const SlottedGrant& grant : grants) machines[grant.row] = grant.maps;
  CHECK((machines == std::map<Index, std::int64_t>{{0, 2}, {1, 3}, {2, 3}}));
}

}  // namespace test_fair_share
}  // namespace malleable::check
