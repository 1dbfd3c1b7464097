#include "malleable/policy/unlock.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace {

class NaiveUnlock final : public NaiveVirtual {
 public:
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle, bool,
              std::vector<SlottedGrant>& grants) override {
    virtual_slot(machines);
    const auto order = by(jobs, [](const SlottedJob& job) { return job.left(); });
    for (const Index row : order) {
      const SlottedJob& job = jobs[row];
      if (job.map_left <= job.reduce_left) give(jobs, row, planned(job), idle);
    }
    for (const Index row : order) give(jobs, row, jobs[row].maps + jobs[row].ready, idle);
    hand_over(jobs, grants);
  }
};

}  // namespace

TEST(unlock_sorted_anew) { compare_with_naive<NaiveUnlock>("unlock", 1, 400); }

// Map tasks that unlock less than they take do not delay a job that can end now.
TEST(unlock_lets_a_small_job_end) {
  SlottedTable table;
  table.add(1, 4, {2});
  table.add(1, 3, {8});
  SlottedOptions options;
  options.machines = 4;
  // Slot 1: nothing may reduce yet. Least work first: job 0's four map tasks. Slot 2: its two units
  // end it, and the other job has two machines.
  const auto finish = finish_of(table, options, make_slotted_policy("unlock", true));
  CHECK_EQUAL(finish[0], 2);
}

}  // namespace malleable::check
