// A job table as a struct of arrays, and the one place where its numbers are checked. Work is in
// slot-seconds; J is the number of jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/restarts.hpp"
#include "malleable/model/speedups.hpp"
#include "malleable/model/terms.hpp"

namespace malleable {

struct JobsView : TermsView {
  std::span<const double> work;
  std::span<const std::int64_t> min_slots, max_slots;
  SpeedupView speedup = {};
  // What the minimum of each job means, as a MinMode: kGuarantee (it always has so many slots) or
  // kStart (it waits with none until it gets so many); empty: the caller's mode for all jobs.
  std::span<const std::int64_t> min_mode = {};
  // Preferred number of slots at the start; 0, or empty: none.
  std::span<const std::int64_t> preferred = {};
  RestartView restart = {};

  std::size_t size() const { return work.size(); }
};

// Throws FieldError for the first invalid value (NaN, infinite, negative, beyond its range in
// domain.hpp, a minimum above its maximum, SLA steps out of order) and std::invalid_argument for
// lengths that differ. O(J + steps).
void validate(const JobsView& jobs);

struct JobColumns : TermColumns {
  std::vector<double> work;
  std::vector<std::int64_t> min_slots, max_slots;
  SpeedupColumns speedup;
  std::vector<std::int64_t> min_mode, preferred;
  RestartColumns restart;

  static JobColumns of(const JobsView& jobs);

  JobsView view() const {
    return {terms(),        work,     min_slots, max_slots,
            speedup.view(), min_mode, preferred, restart.view()};
  }
  void clear();

  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    visit("work", self.work, kAnyLength, false);
    const std::size_t rows = self.work.size();
    visit("min_slots", self.min_slots, rows, false);
    visit("max_slots", self.max_slots, rows, true);
    TermColumns::each(self, rows, visit);
    SpeedupColumns::each(self.speedup, rows, visit);
    visit("min_mode", self.min_mode, rows, true);
    visit("preferred", self.preferred, rows, true);
    RestartColumns::each(self.restart, rows, visit);
  }
};

// A valid, immutable table.
class Jobs {
 public:
  // Optional columns that are empty get their defaults; default sizes are the works. Throws as
  // validate() does. O(J + steps).
  explicit Jobs(JobColumns&& columns);
  // From complete columns that are known to be valid.
  static Jobs of_valid(JobColumns&& columns);

  operator JobsView() const { return columns_.view(); }
  JobsView view() const { return columns_.view(); }
  TermsView terms() const { return columns_.view(); }
  const JobColumns& columns() const { return columns_; }

  // The jobs at these rows, in this order. FieldError for a row out of range. O(rows + steps).
  Jobs take(std::span<const std::int64_t> rows) const;

 private:
  Jobs() = default;
  JobColumns columns_;
};

}  // namespace malleable
