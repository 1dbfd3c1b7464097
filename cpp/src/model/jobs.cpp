#include "malleable/model/jobs.hpp"

#include <string>
#include <utility>

#include "malleable/model/error.hpp"
#include "malleable/model/large_pages.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

void JobColumns::clear() {
  TermColumns::clear();
  work.clear();
  for (auto* column : {&min_slots, &max_slots, &min_mode, &preferred}) column->clear();
  speedup.clear();
  restart.clear();
}

JobColumns JobColumns::of(const JobsView& jobs) {
  const auto copy = [](const auto& column) { return std::vector(column.begin(), column.end()); };
  return {{copy(jobs.arrival),
           copy(jobs.weight),
           copy(jobs.deadline),
           copy(jobs.original),
           {copy(jobs.sla.offset), copy(jobs.sla.time), copy(jobs.sla.penalty)}},
          copy(jobs.work),
          copy(jobs.min_slots),
          copy(jobs.max_slots),
          {copy(jobs.speedup.exponent), copy(jobs.speedup.offset), copy(jobs.speedup.rate)},
          copy(jobs.min_mode),
          copy(jobs.preferred),
          {copy(jobs.restart.any), copy(jobs.restart.grow), copy(jobs.restart.shrink),
           copy(jobs.restart.slot)}};
}

void validate(const JobsView& jobs) {
  const std::size_t n = jobs.size();
  check_length("min_slots", jobs.min_slots.size(), n, "work");
  check_length("max_slots", jobs.max_slots.size(), n, "work");
  check_amounts("work", jobs.work, kWorkRange);
  validate(static_cast<const TermsView&>(jobs), n, "work");
  validate(jobs.speedup, n, "work");
  validate(jobs.restart, n, "work");
  check_counts("min_slots", jobs.min_slots, 0, kMostSlots, "must be at least 0 and at most 2^50");
  check_counts("max_slots", jobs.max_slots, 1, kAllSlots, "must be at least 1");
  if (!jobs.min_mode.empty()) check_length("min_mode", jobs.min_mode.size(), n, "work");
  for (std::size_t j = 0; j < jobs.min_mode.size(); ++j) {
    const std::int64_t mode = jobs.min_mode[j];
    if (mode == std::int64_t{0} || mode == static_cast<std::int64_t>(MinMode::kStart)) continue;
    throw FieldError("min_mode", j, static_cast<long long>(mode),
                     "must be 0 (guarantee) or 2 (start)");
  }
  if (!jobs.preferred.empty()) check_length("preferred", jobs.preferred.size(), n, "work");
  for (std::size_t j = 0; j < jobs.preferred.size(); ++j) {
    const std::int64_t most = jobs.max_slots[j], at = jobs.preferred[j];
    if (at == 0 || (at >= jobs.min_slots[j] && at <= most)) continue;
    throw FieldError("preferred", j, static_cast<long long>(at),
                     "must be from min_slots[" + std::to_string(j) +
                         "] = " + std::to_string(jobs.min_slots[j]) + " to max_slots[" +
                         std::to_string(j) + "] = " + std::to_string(most));
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (jobs.min_slots[j] > jobs.max_slots[j]) {
      throw FieldError(
          "min_slots", j, static_cast<long long>(jobs.min_slots[j]),
          "above max_slots[" + std::to_string(j) + "] = " + std::to_string(jobs.max_slots[j]));
    }
  }
}

Jobs::Jobs(JobColumns&& columns) : columns_(std::move(columns)) {
  const std::size_t n = columns_.work.size();
  columns_.complete(n);
  if (columns_.max_slots.empty()) fill_large(columns_.max_slots, n, kAllSlots);
  if (columns_.original.empty()) {
    reserve_large(columns_.original, n);
    columns_.original = columns_.work;
  }
  validate(columns_.view());
}

Jobs Jobs::of_valid(JobColumns&& columns) {
  Jobs made;
  made.columns_ = std::move(columns);
  return made;
}

Jobs Jobs::take(std::span<const std::int64_t> rows) const {
  const JobsView from = view();
  JobColumns taken;
  taken.clear();
  for (std::size_t k = 0; k < rows.size(); ++k) {
    check_row(rows, k, from.size());
    const auto row = static_cast<std::size_t>(rows[k]);
    taken.add(from, row);
    taken.work.push_back(from.work[row]);
    taken.min_slots.push_back(from.min_slots[row]);
    taken.max_slots.push_back(from.max_slots[row]);
    if (from.speedup.given()) taken.speedup.add(from.speedup, row);
    if (!from.min_mode.empty()) taken.min_mode.push_back(from.min_mode[row]);
    if (!from.preferred.empty()) taken.preferred.push_back(from.preferred[row]);
    taken.restart.add(from.restart, row);
  }
  return of_valid(std::move(taken));
}

}  // namespace malleable
