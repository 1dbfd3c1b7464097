#include "malleable/policy/epoch/unknown_sizes.hpp"

#include <algorithm>

namespace malleable {

// The sizes of ended jobs, program by program, from which the work left of others is guessed.
void UnknownSizes::finish(const Scene& at, std::size_t row, std::int64_t program) {
  const JobTable& jobs = at.jobs;
  const double from =
      jobs.ready.empty() ? jobs.since[row] : std::max(jobs.since[row], jobs.ready[row]);
  ended_.push_back(
      {program, jobs.done[row], jobs.rate(row, static_cast<double>(at.grants[row])), from});
}

// Jobs that ended since the last decision ended now, or, with a period, in its middle on average.
void UnknownSizes::learn(const Scene& at, double now) {
  const double end = at.period > 0.0 ? at.now + (now - at.now) / 2.0 : now;
  for (const Ended& job : ended_) {
    const double size = job.done + job.rate * std::max(0.0, end - job.from);
    Program& own = of(job.program);
    const std::size_t level = work_class(size);
    own.sizes[level] += 1.0;
    own.least = std::min(own.least, level > 0 ? work_bound(level - 1) : 0.0);
  }
  ended_.clear();
  for (Program& program : programs_) program.index.update(program.sizes);
}

UnknownSizes::Program& UnknownSizes::of(std::int64_t program) {
  const auto place =
      std::lower_bound(programs_.begin(), programs_.end(), program,
                       [](const Program& own, std::int64_t name) { return own.name < name; });
  if (place != programs_.end() && place->name == program) return *place;
  Program& made = *programs_.insert(place, Program{program, {}, {}});
  made.index.update(made.sizes);
  return made;
}

}  // namespace malleable
