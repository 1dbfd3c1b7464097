// The tandem queue event by event, and plans of batches.
#include "malleable/sim/tandem.hpp"
#include "malleable/sim/tandem_batch.hpp"
#include "target.hpp"

namespace malleable::fuzz {
namespace {

constexpr TandemPolicy kPolicies[] = {TandemPolicy::kFcfs,      TandemPolicy::kMaxSrpt,
                                      TandemPolicy::kSplitSrpt, TandemPolicy::kTwoSrpt,
                                      TandemPolicy::kOrder,     TandemPolicy::kShare};

void queue(Bytes& bytes) {
  TandemOptions options;
  options.policy = bytes.pick(kPolicies);
  options.conserving = bytes.chance(180);
  options.overlap = bytes.chance(200);
  options.weighted = options.policy == TandemPolicy::kShare && bytes.chance(128);
  options.estimated = bytes.chance(100);
  if (options.estimated) bytes.chance(128);  // keeps the meaning of inputs
  if (options.policy == TandemPolicy::kShare)
    options.most_mapping = bytes.chance(128) ? -1 : bytes.integer(1, 4);
  options.buckets = bytes.integer(0, 8);
  options.bucket_width = std::fmax(1e-3, bytes.amount({1e-3, 1e3}));
  options.histogram = options.buckets == 8;  // a megabyte
  const std::size_t n = bytes.index(24);
  std::vector<double> arrival, map, shuffle, weight, map_guess, shuffle_guess, map_place,
      shuffle_place;
  double at = 0.0;
  const bool together = bytes.chance(64), same_scale = bytes.chance(160);
  const Domain domain = same_scale ? Domain{1e-2, 1e2} : kWork;
  for (std::size_t j = 0; j < n; ++j) {
    if (!together)
      at = std::min(kLatest, at + bytes.amount(same_scale ? domain : Domain{1e-12, 1e12}));
    arrival.push_back(at);
    map.push_back(bytes.amount(domain));
    shuffle.push_back(bytes.amount(domain));
    weight.push_back(std::fmax(1e-12, bytes.amount(kWeight)));
    if (options.estimated) {
      map_guess.push_back(bytes.chance(64) ? map.back() : bytes.amount(domain));
      shuffle_guess.push_back(bytes.chance(64) ? shuffle.back() : bytes.amount(domain));
    }
    if (options.policy == TandemPolicy::kOrder) {
      map_place.push_back(static_cast<double>(bytes.index(n)));
      shuffle_place.push_back(static_cast<double>(bytes.index(n)));
    }
  }
  TandemQueue sim(options);
  sim.feed({arrival, map, shuffle, weight, map_guess, shuffle_guess, map_place, shuffle_place});
  sim.advance(at + bytes.amount({1e-12, 1e12}));
  const auto shares = sim.decide();
  double mapping = 0.0, shuffling = 0.0;
  for (const auto& service : shares) {
    CHECK(service.map >= 0.0 && service.shuffle >= 0.0);
    mapping += service.map;
    shuffling += service.shuffle;
  }
  CHECK_AT_MOST(mapping, 1.0, 1e-9);
  CHECK_AT_MOST(shuffling, 1.0, 1e-9);
  sim.advance(kInfinity);

  const TandemTotals& totals = sim.totals();
  CHECK_EQUAL(totals.arrived, static_cast<std::int64_t>(n));
  CHECK_EQUAL(totals.completed, totals.arrived);
  CHECK_EQUAL(sim.present(), 0);
  CHECK_EQUAL(sim.done_id.size(), n);
  CHECK(totals.events <= static_cast<std::int64_t>(200 * (n + 1) * (n + 1)));
  std::vector<bool> seen(n, false);
  double last = 0.0, map_work = 0.0, shuffle_work = 0.0, response = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    const auto j = static_cast<std::size_t>(sim.done_id[k]);
    CHECK(j < n && !seen[j]);
    if (j >= n) return;
    seen[j] = true;
    const double end = sim.done_completion[k], slack = 1e-9 * (1e-12 + end);
    CHECK(std::isfinite(end) && end >= last);
    last = end;
    CHECK_AT_MOST(arrival[j], sim.done_start[k], slack);
    CHECK_AT_MOST(sim.done_start[k], end, slack);
    CHECK_AT_MOST(arrival[j] + map[j], sim.done_map[k], slack);
    CHECK_AT_MOST(sim.done_map[k], end, slack);
    CHECK_AT_MOST(arrival[j] + std::max(map[j], shuffle[j]), end, slack);
    response += end - arrival[j];
    map_work += map[j];
    shuffle_work += shuffle[j];
  }
  CHECK_NEAR(totals.map_busy, map_work, 1e-6 * map_work + 1e-9 * last);
  CHECK_NEAR(totals.shuffle_busy, shuffle_work, 1e-6 * shuffle_work + 1e-9 * last);
  CHECK_NEAR(totals.response, response, 1e-9 * static_cast<double>(n + 1) * last);
  // Work arrives and is done, and no job is late without reason.
  if (options.conserving && options.overlap && n > 0) {
    CHECK_AT_MOST(last, at + map_work + shuffle_work, 1e-9 * last);
  }
}

void batch(Bytes& bytes) {
  const std::size_t n = bytes.index(12);
  const Domain domain = bytes.chance(128) ? Domain{1e-2, 1e2} : kWork;
  std::vector<double> map, shuffle;
  for (std::size_t j = 0; j < n; ++j) {
    map.push_back(bytes.amount(domain));
    shuffle.push_back(bytes.amount(domain));
  }
  TandemBatch plan(map, shuffle);
  plan.search(bytes.integer(0, 60));
  CHECK(std::isfinite(plan.value()) && std::isfinite(plan.lower_bound()));
  CHECK(plan.lower_bound() <= plan.value());
  CHECK_AT_MOST(plan.value(), plan.max_srpt(), 0.0);
  CHECK_AT_MOST(plan.value(), plan.split_srpt(), 0.0);
  const TandemQueue run = plan.run();
  CHECK_EQUAL(run.totals().completed, static_cast<std::int64_t>(n));
  CHECK_NEAR(run.totals().response, plan.value(), 1e-9 * plan.value());
}

}  // namespace

void fuzz(Bytes bytes) {
  if (bytes.chance(48)) {
    batch(bytes);
  } else {
    queue(bytes);
  }
}

}  // namespace malleable::fuzz
