// Sequences of events on the adaptive scheduler's epoch: counts stay what they must be, and free
// slots are offered once; what is refused changes nothing.
#include <map>

#include "malleable/policy/adaptive_epoch.hpp"
#include "sequence.hpp"

namespace malleable::fuzz {
namespace {

using Wholes = std::vector<std::int64_t>;
using Reals = std::vector<double>;

struct Run {
  std::size_t job;
  std::int64_t node, task;
  Phase phase;
};

struct Job {
  std::int64_t id;
  std::int64_t total[2], waiting[2] = {0, 0}, running[2] = {0, 0}, finished[2] = {0, 0};
  std::int64_t held[2] = {0, 0};  // after the last decision
  std::size_t copies = 0;
  bool gone = false;
};

// Shares of any kind: the scheduler must live with what a solver says.
ClassMatcher matcher_of(std::uint8_t how) {
  return [how](std::span<const double> arrival, std::span<const double> execution,
               std::span<const double> nodes) {
    std::vector<double> share(arrival.size() * nodes.size(), 0.0);
    for (const double rate : arrival) CHECK(rate >= 0.0 && std::isfinite(rate));
    for (const double rate : execution) CHECK(rate >= 0.0 && !std::isnan(rate));
    for (std::size_t k = 0; k < share.size(); ++k) {
      if (how % 3 == 0 || (how % 3 == 1 && k % 2 == 0)) share[k] = 1.0;
    }
    return share;
  };
}

struct Sequence {
  Bytes bytes;
  bool generic;
  std::vector<AdaptiveResource> resources;
  std::vector<Index> resource;
  AdaptiveEpoch epoch;
  std::vector<std::int64_t> slots[2];  // free, by node
  std::vector<Job> jobs;
  std::map<std::int64_t, std::size_t> at;  // id -> its place in jobs
  std::vector<Run> running;
  double now = 0.0;

  std::vector<Index> present() const {
    std::vector<Index> rows;
    for (Index j = 0; j < jobs.size(); ++j) {
      if (!jobs[j].gone) rows.push_back(j);
    }
    return rows;
  }
  void step() {
    if (bytes.chance(128)) now = std::min(kLatest, now + bytes.amount({1e-12, 1e9}));
  }
  void add() {
    Job job{};
    for (const Phase p : {kMap, kReduce}) {
      job.total[p] = bytes.chance(230) ? bytes.integer(0, 5) : bytes.integer(0, 60);
    }
    std::vector<AdaptiveEpoch::Person> people;
    if (bytes.chance(64)) {
      const double rank = bytes.amount({1e-3, 1e6});
      people.push_back({rank, std::fmax(1e-6, bytes.amount({1e-6, 1e6}))});
    }
    const std::size_t classes = bytes.chance(64) ? 1 : 0;
    const auto& scheduler = epoch.scheduler();
    const Wholes job_class{static_cast<std::int64_t>(bytes.index(scheduler.classes() + classes))};
    const Wholes user{static_cast<std::int64_t>(bytes.index(scheduler.users() + people.size()))};
    const Wholes maps{job.total[kMap]}, reduces{job.total[kReduce]};
    // Late, or in the future; or no time at all, which is refused.
    Reals arrival{bytes.chance(200) ? now : bytes.amount({1e-3, 1e9})};
    const bool bad = bytes.astray(12);
    if (bad) arrival[0] = bytes.wrong_time();
    const Reals map_seconds{bytes.amount(kWork)}, reduce_seconds{bytes.amount(kWork)}, block{0.0};
    const auto none = [&](const Wholes& tasks, int pool) {
      return tasks[0] > 0 && scheduler.slots(generic ? 0 : pool) == 0;
    };
    const bool fits = !none(maps, 0) && !none(reduces, 1);
    Wholes id(1);
    const auto before = state_of(epoch);
    const bool refusal = refused([&] {
      epoch.add({people,
                 classes,
                 job_class,
                 user,
                 maps,
                 reduces,
                 arrival,
                 map_seconds,
                 reduce_seconds,
                 block,
                 {}},
                id);
    });
    CHECK_EQUAL(refusal, bad || !fits);
    if (refusal) {
      CHECK(state_of(epoch) == before);
      return;
    }
    now = std::max(now, arrival[0]);
    job.id = id[0];
    CHECK(at.emplace(job.id, jobs.size()).second);
    job.waiting[kMap] = job.total[kMap];
    if (job.total[kMap] == 0) job.waiting[kReduce] = job.total[kReduce];
    if (job.total[kMap] > 0 && bytes.chance(80)) {
      job.copies = 1 + bytes.index(2);
      Wholes nodes;
      for (std::int64_t t = 0; t < job.total[kMap]; ++t) {
        for (std::size_t c = 0; c < job.copies; ++c) {
          nodes.push_back(
              static_cast<std::int64_t>((bytes.index(resource.size()) + c) % resource.size()));
        }
      }
      epoch.set_blocks(job.id, {job.copies, nodes}, "nodes");
    }
    jobs.push_back(job);
  }
  void set_waiting() {
    const auto rows = present();
    if (rows.empty()) return;
    const Index j = rows[bytes.index(rows.size())];
    Job& job = jobs[j];
    const Phase p = job.copies == 0 && bytes.chance(128) ? kMap : kReduce;
    const std::int64_t most = job.total[p] - job.running[p] - job.finished[p];
    job.waiting[p] = bytes.integer(0, most);
    const Wholes ids{job.id}, tasks{job.waiting[p]};
    const Reals seconds{bytes.amount(kWork)};
    const bool corrects = bytes.chance(64);
    epoch.update(ids, {p == kMap ? tasks : Wholes(), p == kReduce ? tasks : Wholes(),
                       corrects ? seconds : Reals(), corrects ? seconds : Reals()});
  }
  void finish() {
    if (running.empty()) return;
    const std::size_t k = bytes.index(running.size());
    const Run run = running[k];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(k));
    ++slots[generic ? 0 : run.phase][static_cast<std::size_t>(run.node)];
    Job& job = jobs[run.job];
    if (job.gone) return;  // its tasks end, nobody listens
    const bool done = bytes.chance(200);
    step();
    const Wholes ids{job.id}, phase{run.phase}, node{run.node}, task{run.task};
    const Reals seconds{bytes.amount(kWork)}, end{now};
    epoch.ended({ids, phase, node, task, seconds, end, std::vector<std::uint8_t>{done}});
    --job.running[run.phase];
    ++(done ? job.finished : job.waiting)[run.phase];
    if (done && run.phase == kMap && job.finished[kMap] == job.total[kMap]) {
      job.waiting[kReduce] = job.total[kReduce] - job.running[kReduce] - job.finished[kReduce];
    }
  }
  void remove() {
    const auto rows = present();
    if (rows.empty()) return;
    const Index j = rows[bytes.index(rows.size())];
    epoch.remove(Wholes{jobs[j].id});
    jobs[j].gone = true;
  }
  void decide() {
    step();
    TaskStarts starts;
    const std::span<const std::int64_t> free[2] = {slots[0], slots[1]};
    CHECK(refused([&] { epoch.decide(std::nextafter(epoch.now(), -1.0), free, starts); }));
    const auto rows = epoch.decide(now, free, starts);
    for (std::size_t k = 0; k < starts.size(); ++k) {
      CHECK_EQUAL(at.count(starts.job[k]), std::size_t{1});
      const std::size_t j = at[starts.job[k]];
      CHECK(!jobs[j].gone);
      const auto p = static_cast<Phase>(starts.phase[k]);
      CHECK(--jobs[j].waiting[p] >= 0);
      ++jobs[j].running[p];
      const auto node = static_cast<std::size_t>(starts.node[k]);
      CHECK(node < resource.size());
      CHECK(--slots[generic ? 0 : p][node] >= 0);
      CHECK_EQUAL(starts.task[k] >= 0, p == kMap && jobs[j].copies > 0);
      running.push_back({j, starts.node[k], starts.task[k], p});
    }
    std::vector<bool> named(jobs.size(), false);
    for (const auto& row : rows) {
      CHECK_EQUAL(at.count(row.id), std::size_t{1});
      const std::size_t j = at[row.id];
      CHECK(!jobs[j].gone && !named[j]);
      named[j] = true;
      bool changed = false;
      for (const Phase p : {kMap, kReduce}) {
        CHECK_EQUAL(row.slots[p], jobs[j].running[p]);
        changed |= row.slots[p] != jobs[j].held[p];
        jobs[j].held[p] = row.slots[p];
      }
      CHECK_EQUAL(row.changed, changed);
    }
    for (const Index j : present()) {
      CHECK(named[j] || (jobs[j].running[kMap] + jobs[j].running[kReduce] == 0 &&
                         jobs[j].held[kMap] + jobs[j].held[kReduce] == 0));
    }
  }
  void check_counts() {
    for (const Index j : present()) {
      for (const Phase p : {kMap, kReduce}) {
        CHECK_EQUAL(epoch.counts(jobs[j].id).waiting[p], jobs[j].waiting[p]);
        CHECK_EQUAL(epoch.counts(jobs[j].id).running[p], jobs[j].running[p]);
        CHECK_EQUAL(epoch.counts(jobs[j].id).finished[p], jobs[j].finished[p]);
      }
    }
  }
  void run() {
    play(*this,
         {&Sequence::add, &Sequence::set_waiting, &Sequence::finish, &Sequence::finish,
          &Sequence::finish, &Sequence::remove, &Sequence::decide, &Sequence::decide},
         80, [&] { check_counts(); });
  }
};

}  // namespace

void fuzz(Bytes bytes) {
  AdaptiveOptions options;
  options.by_slots = bytes.chance(200);
  options.fallback = bytes.chance(200);
  if (bytes.chance(100)) options.guard = bytes.amount({1e-3, 1e3});
  options.threshold = bytes.chance(128) ? 0.0 : bytes.unit();
  options.memory = std::fmax(1e-3, bytes.amount({1e-3, 1e9}));
  options.max_wait = bytes.amount({1e-3, 1e9});
  options.patience = bytes.amount({1e-3, 1e9});
  const std::uint8_t how = bytes.byte();
  const bool generic = bytes.chance(100);
  std::vector<AdaptiveResource> resources(1 + bytes.index(3));
  std::vector<Index> resource;
  std::vector<std::int64_t> map_slots, reduce_slots;
  for (Index r = 0; r < resources.size(); ++r) {
    resources[r] = {bytes.integer(1, 2), {bytes.integer(0, 3), generic ? 0 : bytes.integer(0, 3)}};
    for (std::int64_t k = 0; k < resources[r].nodes; ++k) {
      resource.push_back(r);
      map_slots.push_back(resources[r].slots[0]);
      reduce_slots.push_back(resources[r].slots[1]);
    }
  }
  const std::vector<double> minimum = {0.0, bytes.amount({1e-3, 1e3})}, priority = {1.0, 2.0};
  Adaptive scheduler(resources, resource, generic, minimum, priority, options, matcher_of(how));
  scheduler.add_class();
  AdaptiveEpoch epoch(std::move(scheduler), resource.size(), generic);
  Sequence{bytes, generic, resources, resource, std::move(epoch), {map_slots, reduce_slots},
           {},    {},      {}}
      .run();
}

}  // namespace malleable::fuzz
