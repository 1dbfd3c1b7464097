// Unlock: planned maps that unlock at least twice the reduce work, then jobs by work left.
#include "malleable/policy/unlock.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace test_unlock {

class NaiveUnlock final : public NaiveVirtual {
 public:
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle, bool,
              std::vector<SlottedGrant>& grants) override {
    virtual_steps(static_cast<double>(machines));
    const auto order = by(jobs, [](const SlottedJob& job) { return job.left(); });
    for (const Index row : order) {
      const SlottedJob& job = jobs[row];
      if (2.0 * job.map_left <= job.reduce_left) give(jobs, row, planned(job), idle);
    }
    for (const Index row : order) give(jobs, row, jobs[row].maps + jobs[row].ready, idle);
    hand_over(jobs, grants);
  }
};

TEST(unlock_sorted_anew) { compare_with_naive<NaiveUnlock>("unlock", 1, 4000); }

// Map tasks that unlock less than they take do not delay a job that can end now.
TEST(unlock_lets_a_job_end) {
  SlottedTable table;
  table.add(1, 1, {5});
  table.add(2, 4, {1});
  SlottedOptions options;
  options.machines = 4;
  // In steps 2 and 3 the virtual SRPT runs two map tasks of job 1 each. ASRPT follows it and job 0
  // is left with two machines a step; four map tasks unlock one unit, so unlock does not.
  const auto finish = finish_of(table, options, make_slotted_policy("unlock", true));
  CHECK(finish == (std::vector<std::int64_t>{3, 5}));
  const auto asrpt = finish_of(table, options, make_slotted_policy("asrpt", true));
  CHECK(asrpt == (std::vector<std::int64_t>{4, 4}));
}

}  // namespace test_unlock
}  // namespace malleable::check
