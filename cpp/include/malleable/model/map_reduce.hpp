// A table of map-and-reduce jobs in steps (Zheng, Shroff, Sinha 2013, section III) as a struct of
// arrays, and the one place where its numbers are checked.
//
// Steps are numbered from 1. A map task is one unit of work; a reduce task is one or more units,
// all after the step of the job's last map task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace malleable {

// The most units of a job's phase, of a table, and the last step. With these limits, sums over a
// job or a table stay exact, in integers and in doubles.
inline constexpr std::int64_t kMostUnits = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostWork = std::int64_t{1} << 52;
inline constexpr std::int64_t kLastStep = std::int64_t{1} << 50;

struct MapReduceView {
  std::span<const std::int64_t> arrival;      // steps, from 1
  std::span<const std::int64_t> map;          // tasks of one unit
  std::span<const std::int64_t> task_offset;  // size() + 1 entries into task
  std::span<const std::int64_t> task;         // units of each reduce task

  std::size_t size() const { return map.size(); }
};

// Throws FieldError for the first value out of its range and std::invalid_argument for lengths that
// differ. O(jobs + tasks).
void validate(const MapReduceView& jobs);

// Throws unless there are 1 to kMostUnits machines.
void validate_machines(std::int64_t machines);

}  // namespace malleable
