// No memory is asked for by epochs and schedulers that are warm, through the C interface.

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>

#include "embed_calls.hpp"
#include "malleable/model/cluster.hpp"

// Compilers that inline these take their mismatch for a mistake.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

static std::atomic<std::uint64_t> allocations{0};

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* place = operator new(size, std::nothrow)) return place;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t align) {
  ++allocations;
  const auto unit = static_cast<std::size_t>(align);
  if (void* place = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return place;
  throw std::bad_alloc();
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }
void operator delete(void* place, std::align_val_t) noexcept { std::free(place); }
void operator delete(void* place, std::size_t, std::align_val_t) noexcept { std::free(place); }

namespace malleable::check {
namespace test_embed_allocations {

// Decisions, updates and ends of an object that has been through as much before ask for no memory.
void quiet(const char* what, const std::function<void(int)>& step) {
  context = what;
  for (int k = 0; k < 30; ++k) step(k);
  const std::uint64_t before = allocations.load();
  for (int k = 30; k < 60; ++k) step(k);
  CHECK_EQUAL(allocations.load() - before, 0u);
}

constexpr std::int64_t kJobs = 200;

TEST(warm_epochs_allocate_nothing) {
  Random random(11);
  for (const char* policy : {"flex", "fair", "fifo", "wdeq"}) {
    malleable_epoch* epoch = epoch_of(300, "sum:stretch", policy);
    const Jobs jobs(random, kJobs, 0.0);
    const malleable_jobs all = jobs.view();
    Wholes ids(kJobs), given(kJobs);
    OK(malleable_epoch_add(epoch, &all, ids.data(), nullptr));
    malleable_jobs few = all;  // jobs that come and go again
    few.count = 5;
    Reals work(kJobs);
    auto changes = sized<malleable_jobs>();
    changes.count = kJobs;
    changes.work = work.data();
    Wholes fresh(5), out(kJobs + 5), who(kJobs + 5);
    malleable_decision decision = decision_of(kJobs + 5, who.data(), out.data());
    quiet(policy, [&](int step) {
      for (double& left : work) left = static_cast<double>(random() % 700);
      malleable_epoch_update(epoch, &changes, ids.data(), nullptr);
      few.arrival = nullptr;
      malleable_epoch_add(epoch, &few, fresh.data(), nullptr);
      const std::int64_t slots = 250 + step;
      const int done = malleable_epoch_decide(epoch, step, &slots, 0.0, &decision);
      malleable_epoch_finish(epoch, 5, fresh.data());
      if (done != MALLEABLE_OK || decision.rows != kJobs + 5) ++allocations;
    });
    malleable_epoch_free(epoch);
  }
}

TEST(warm_flow_epochs_allocate_nothing) {
  for (const char* policy : {"flowflex", "fair", "fifo"}) {
    malleable_epoch* epoch = nullptr;
    auto options = sized<malleable_epoch_options>();
    options.model = "flows";
    options.policy = policy;
    OK(malleable_epoch_new(100, &options, &epoch));
    Wholes offset, parent_offset{0}, parent, job_ids(kJobs), flow_ids(kJobs / 2);
    Reals work;
    for (std::int64_t j = 0; j < kJobs; ++j) {
      if (j % 2 == 0) offset.push_back(j);
      if (j % 2 == 1) parent.push_back(j - 1);
      parent_offset.push_back(static_cast<std::int64_t>(parent.size()));
      work.push_back(static_cast<double>(5 + j % 17));
    }
    offset.push_back(kJobs);
    auto flows = sized<malleable_jobs>();
    flows.count = kJobs;
    flows.flows = kJobs / 2;
    flows.job_offset = offset.data();
    flows.work = work.data();
    flows.parent_offset = parent_offset.data();
    flows.parent = parent.data();
    OK(malleable_epoch_add(epoch, &flows, job_ids.data(), flow_ids.data()));
    auto changes = sized<malleable_jobs>();
    changes.work = work.data();
    Wholes out(kJobs);
    malleable_decision decision = decision_of(kJobs, nullptr, out.data());
    decision.ended = flow_ids.data();
    decision.ended_room = kJobs / 2;
    quiet(policy, [&](int step) {
      for (double& left : work) left += 1.0;
      // A job ends in every epoch.
      const std::int64_t count = kJobs - step - 1;
      malleable_epoch_finish(epoch, 1, job_ids.data());
      std::rotate(job_ids.begin(), job_ids.begin() + 1, job_ids.end());
      changes.count = count;
      malleable_epoch_update(epoch, &changes, job_ids.data(), nullptr);
      const int done = malleable_epoch_decide(epoch, step, nullptr, 0.0, &decision);
      if (done != MALLEABLE_OK || decision.rows != count) ++allocations;
    });
    malleable_epoch_free(epoch);
  }
}

TEST(warm_tandem_epochs_allocate_nothing) {
  for (const char* policy : {"max-srpt", "split-srpt", "two-srpt", "fcfs"}) {
    malleable_epoch* epoch = nullptr;
    auto options = sized<malleable_epoch_options>();
    options.model = "tandem";
    options.shuffle_slots = 20;
    options.policy = policy;
    OK(malleable_epoch_new(40, &options, &epoch));
    Reals map(kJobs), shuffle(kJobs), most(kJobs, 3.0);
    for (std::size_t k = 0; k < map.size(); ++k) {
      map[k] = static_cast<double>(2 + k % 7);
      shuffle[k] = static_cast<double>(1 + k % 5);
    }
    auto jobs = sized<malleable_jobs>();
    jobs.count = kJobs;
    jobs.map = map.data();
    jobs.shuffle = shuffle.data();
    jobs.max_map_slots = jobs.max_shuffle_slots = most.data();
    Wholes ids(kJobs), who(kJobs), out(2 * kJobs);
    Reals share(2 * kJobs);
    OK(malleable_epoch_add(epoch, &jobs, ids.data(), nullptr));
    auto changes = sized<malleable_jobs>();
    changes.count = kJobs;
    changes.map = map.data();
    malleable_decision decision = decision_of(kJobs, who.data(), out.data());
    decision.share = share.data();
    quiet(policy, [&](int step) {
      std::rotate(map.begin(), map.begin() + 1, map.end());
      malleable_epoch_update(epoch, &changes, ids.data(), nullptr);
      const std::int64_t slots[] = {40, 15 + step % 5};
      const int done = malleable_epoch_decide(epoch, step, slots, 0.0, &decision);
      if (done != MALLEABLE_OK || decision.rows == 0) ++allocations;
    });
    malleable_epoch_free(epoch);
  }
}

TEST(warm_slotted_epochs_allocate_nothing) {
  for (const char* policy : {"srpt", "fifo", "fair", "asrpt"}) {
    malleable_epoch* epoch = nullptr;
    auto options = sized<malleable_epoch_options>();
    options.model = "slotted";
    options.policy = policy;
    OK(malleable_epoch_new(60, &options, &epoch));
    Wholes maps(kJobs), reduces(kJobs, 1), ids(kJobs), who(kJobs), out(kJobs);
    Reals left(kJobs, 4.0);
    for (std::size_t k = 0; k < maps.size(); ++k) maps[k] = static_cast<std::int64_t>(1 + k % 9);
    auto jobs = sized<malleable_jobs>();
    jobs.count = kJobs;
    jobs.maps = maps.data();
    jobs.reduce_left = left.data();
    OK(malleable_epoch_add(epoch, &jobs, ids.data(), nullptr));
    auto changes = sized<malleable_jobs>();
    changes.count = kJobs;
    changes.maps = maps.data();
    changes.reduces = reduces.data();
    malleable_decision decision = decision_of(kJobs, who.data(), out.data());
    quiet(policy, [&](int step) {
      std::rotate(maps.begin(), maps.begin() + 1, maps.end());
      malleable_epoch_update(epoch, &changes, ids.data(), nullptr);
      const std::int64_t slots = 50 + step % 7;
      const int done = malleable_epoch_decide(epoch, step, &slots, 0.0, &decision);
      if (done != MALLEABLE_OK || decision.rows == 0) ++allocations;
    });
    malleable_epoch_free(epoch);
  }
}

TEST(adaptive_schedulers_that_are_warm_allocate_nothing) {
  const Wholes slots{4, 4, 2, 2};
  malleable_cluster cluster = generic_nodes(slots);
  cluster.users = 1;
  malleable_scheduler* scheduler = nullptr;
  Matcher matcher;
  auto options = adaptive_options(matcher);
  options.matcher = nullptr;
  CHECK(refused(malleable_scheduler_new(&cluster, &options, &scheduler), "matcher: missing"));
  options.matcher = Matcher::answer;
  options.adaptive = "patience=-1";
  CHECK(refused(malleable_scheduler_new(&cluster, &options, &scheduler), "patience = -1"));
  options.adaptive = nullptr;
  OK(malleable_scheduler_new(&cluster, &options, &scheduler));
  const Wholes maps(20, 1000);
  const Reals seconds(20, 5.0);
  Wholes ids(20);
  malleable_cluster_jobs jobs{};
  jobs.count = 20;
  jobs.maps = maps.data();
  jobs.map_seconds = seconds.data();
  OK(malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data()));
  CHECK(matcher.asked > 0);
  Wholes free = slots, task_id(12), phase(12), task(12), node(12);
  const Reals took(12, 5.0);
  malleable_starts starts{sizeof starts, 12,          0,          task_id.data(),
                          phase.data(),  task.data(), node.data()};
  malleable_events ended = events_of(task_id, phase, {}, took);
  ended.node = node.data();
  quiet("adaptive-literal", [&](int step) {
    const int done = malleable_scheduler_assign(scheduler, step, free.data(), nullptr, &starts);
    if (done != MALLEABLE_OK || starts.rows != 12) ++allocations;
    malleable_scheduler_tell(scheduler, step, "ended", &ended);
  });
  malleable_scheduler_free(scheduler);
}

TEST(schedulers_and_warm_ones_allocate_nothing) {
  const Wholes slots{8, 8};
  malleable_cluster cluster = generic_nodes(slots);
  malleable_scheduler* scheduler = nullptr;
  auto options = sized<malleable_scheduler_options>();
  options.objective = "sum:custom";
  CHECK(refused(malleable_scheduler_new(&cluster, &options, &scheduler), "objective"));
  for (const char* policy : {"flex", "fair", "fifo", "srpt", "flowflex"}) {
    scheduler = scheduler_of(cluster, policy);
    const Wholes maps{100, 500, 700};  // the first job ends before it counts
    const Reals seconds(3, 2.0);
    malleable_cluster_jobs jobs{};
    jobs.count = 3;
    jobs.maps = maps.data();
    jobs.map_seconds = seconds.data();
    Wholes ids(3), who(3), given(6), task_id(16), phase(16), task(16), node(16);
    Bytes changed(3), bound(6);
    Reals key(3);
    OK(malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data()));
    // What is learnt of a phase has its memory from its first task on.
    const Wholes maps_of(3, kMap), first(3, 1);
    const Reals second(3, 2.0);
    tell(scheduler, 0.0, "started", events_of(ids, maps_of, first));
    tell(scheduler, 0.0, "ended", events_of(ids, maps_of, first, second));
    Wholes free = slots;
    const Reals took(16, 2.0);
    malleable_decision decision = decision_of(3, who.data(), given.data());
    decision.changed = changed.data();
    decision.bound = bound.data();
    decision.key = key.data();
    malleable_starts starts{sizeof starts, 16,          0,          task_id.data(),
                            phase.data(),  task.data(), node.data()};
    malleable_events ended = events_of(task_id, phase, {}, took);
    ended.node = node.data();
    const auto step = [&](int k) {
      int done = malleable_scheduler_decide(scheduler, k, &decision);
      done += malleable_scheduler_assign(scheduler, k, free.data(), nullptr, &starts);
      done += malleable_scheduler_tell(scheduler, k, "ended", &ended);
      if (done != MALLEABLE_OK || starts.rows != 16 || ended.ignored != 0) ++allocations;
    };
    if (std::string(policy) == "flowflex") {  // plans again, and says so
      step(0);
    } else {
      quiet(policy, step);
    }
    Wholes running(6), finished(6);
    OK(malleable_scheduler_counts(scheduler, 3, ids.data(), nullptr, running.data(),
                                  finished.data(), nullptr));
    CHECK(std::accumulate(finished.begin(), finished.end(), std::int64_t{0}) >= 16);
    double next = 0.0;
    OK(malleable_scheduler_next(scheduler, &next));
    OK(malleable_scheduler_remove(scheduler, 100.0, 3, ids.data()));
    std::int64_t left = -1;
    OK(malleable_scheduler_size(scheduler, &left));
    CHECK_EQUAL(left, 0);
    malleable_scheduler_free(scheduler);
  }
}

}  // namespace test_embed_allocations
}  // namespace malleable::check
