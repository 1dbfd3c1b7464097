// Jobs with a start condition: they wait until their minimum is free, and keep it to their end.
#include <map>

#include "instances.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable::check {
namespace test_epoch_start {

// What was seen of a job: what it is, and whether it runs.
struct Seen {
  std::int64_t low, high;
  bool starts, runs;
};

EpochOptions options_of(Random& random) {
  EpochOptions options;
  options.min_mode = MinMode::kStart;
  const EpochPolicy policies[] = {EpochPolicy::kFlex, EpochPolicy::kFlex, EpochPolicy::kFair,
                                  EpochPolicy::kFifo, EpochPolicy::kHeSrpt};
  const Kind kinds[] = {Kind::kResponse, Kind::kStretch, Kind::kTardiness, Kind::kTardy};
  options.policy = policies[integer(random, 0, 4)];
  options.kind = kinds[integer(random, 0, 3)];
  if (integer(random, 0, 2) == 0) options.aggregate = Aggregate::kMax;
  if (integer(random, 0, 2) == 0) options.period = 2.0;
  return options;
}

// Jobs, some of which have a guarantee, come and go, and slots with them.
TEST(who_runs_keeps_its_minimum) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    context = text("seed ", seed);
    Random random(seed);
    const EpochOptions options = options_of(random);
    Epoch epoch(integer(random, 4, 20), options);
    std::map<std::int64_t, Seen> jobs;
    double now = 0.0;
    for (int step = 0; step < 60; ++step) {
      const bool mixed = seed % 2 == 1;
      for (std::int64_t k = integer(random, 0, 3); k > 0; --k) {
        const std::int64_t low = integer(random, 0, 6), high = low + integer(random, 1, 6);
        const std::int64_t mode = mixed && integer(random, 0, 2) == 0 ? 0 : 2;
        const double work = double(integer(random, 0, 40)), one = 1.0;
        const double due = now + double(integer(random, 1, 50));
        JobsView view{};
        view.arrival = {&now, 1};
        view.weight = {&one, 1};
        view.deadline = {&due, 1};
        view.work = {&work, 1};
        view.min_slots = {&low, 1};
        view.max_slots = {&high, 1};
        if (mixed) view.min_mode = {&mode, 1};
        jobs[epoch.add_columns(view)] = {low, high, mode == 2, false};
      }
      if (integer(random, 0, 9) == 0) epoch.set_slots(integer(random, 0, 20));
      const std::int64_t capacity = epoch.slots();
      epoch.decide(now);
      std::string before = save_state("Epoch", epoch);
      Epoch copy(0, {});
      load_state("Epoch", before, copy);
      CHECK(save_state("Epoch", copy) == before);
      std::int64_t all = 0, least = 0;
      bool stopped = false;
      for (std::size_t row = 0; row < epoch.size(); ++row) {
        Seen& job = jobs.at(epoch.ids()[row]);
        const std::int64_t given = epoch.given()[row];
        all += given;
        CHECK(given <= std::max<std::int64_t>(1, job.high));
        if (!job.starts) continue;
        if (job.runs) least += job.low;
        stopped |= job.runs && given < job.low;
        CHECK(given == 0 || given >= job.low);
        job.runs = given > 0 && given >= job.low;
      }
      CHECK(all <= capacity);
      CHECK(!stopped || least > capacity);
      for (auto job = jobs.begin(); job != jobs.end();) {
        const bool ends = job->second.runs && integer(random, 0, 2) == 0;
        if (ends) epoch.finish({&job->first, 1});
        job = ends ? jobs.erase(job) : std::next(job);
      }
      now += double(integer(random, 1, 3));
    }
  }
}

}  // namespace test_epoch_start
}  // namespace malleable::check
