#include "malleable/kernel/flow_columns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// FieldError for the first place whose value is not good.
template <typename T, typename Good>
void need(const char* field, std::span<const T> values, const std::string& reason, Good good) {
  using Shown = std::conditional_t<std::is_integral_v<T>, long long, double>;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!good(k)) throw FieldError(field, k, static_cast<Shown>(values[k]), reason);
  }
}

void need_finite(const char* field, std::span<const double> values) {
  need(field, values, "must be finite", [&](std::size_t k) { return std::isfinite(values[k]); });
}

void check_ends(std::span<const std::int64_t> offset, std::size_t rows, std::size_t end) {
  if (offset.size() == rows + 1 && offset.front() == 0 &&
      offset.back() == static_cast<std::int64_t>(end)) {
    return;
  }
  throw std::invalid_argument("offset: expected " + counted(rows + 1, "entry", "entries") +
                              " from 0 to " + std::to_string(end));
}

bool in(std::int64_t k, std::size_t from, std::size_t to) {
  return k >= static_cast<std::int64_t>(from) && k < static_cast<std::int64_t>(to);
}

void check_work(const ChainColumns& pieces, const FlowChains& chains) {
  std::vector<double> done(chains.length.size(), 0.0), rounding(done);
  for (std::size_t q = 0; q < pieces.pseudo_job.size(); ++q) {
    const auto k = static_cast<std::size_t>(pieces.pseudo_job[q]);
    const auto held = static_cast<double>(pieces.slots[q]);
    const double latest = std::max(std::abs(pieces.start[q]), std::abs(pieces.end[q]));
    done[k] += held * (pieces.end[q] - pieces.start[q]);
    rounding[k] += held * (std::nextafter(latest, kInfinity) - latest);
  }
  for (const std::int64_t flow : pieces.flow) {
    const auto j = static_cast<std::size_t>(flow);
    for (std::size_t k = chains.offset[j]; k < chains.offset[j + 1]; ++k) {
      const double needed = chains.work(k);
      if (std::abs(done[k] - needed) <= kBrought * needed + 4.0 * rounding[k]) continue;
      throw std::invalid_argument("pseudo_job: " + std::to_string(k) + " has " + shown(done[k]) +
                                  " slot-seconds, expected " + shown(needed));
    }
  }
}

}  // namespace

void validate(const ChainColumns& pieces, const FlowChains& chains) {
  const std::span flow = pieces.flow, offset = pieces.offset, rows = pieces.pseudo_job;
  const std::span start = pieces.start, end = pieces.end;
  const std::span slots = pieces.slots;
  const std::size_t count = rows.size(), flows = chains.offset.size() - 1;
  if (start.size() != count || end.size() != count || slots.size() != count) {
    throw std::invalid_argument("pseudo_job, start, end and slots differ in length");
  }
  std::vector<char> seen(flows, 0);
  need("flow", flow, "must be 0 to " + std::to_string(flows - 1),
       [&](std::size_t p) { return in(flow[p], 0, flows); });
  need("flow", flow, "stands there twice", [&](std::size_t p) {
    return std::exchange(seen[static_cast<std::size_t>(flow[p])], 1) == 0;
  });
  check_ends(offset, flow.size(), count);
  need("offset", offset, "must not fall",
       [&](std::size_t p) { return p == 0 || offset[p] >= offset[p - 1]; });
  std::vector<std::size_t> owner(count);  // by piece: the place of its flow
  for (std::size_t p = 0; p < flow.size(); ++p) {
    std::fill(owner.begin() + offset[p], owner.begin() + offset[p + 1], p);
  }
  const auto own = [&](std::size_t q) {
    const auto j = static_cast<std::size_t>(flow[owner[q]]);
    return in(rows[q], chains.offset[j], chains.offset[j + 1]);
  };
  const auto follows = [&](std::size_t q) { return q > 0 && owner[q] == owner[q - 1]; };
  need("pseudo_job", rows, "is none of its flow", own);
  need_finite("start", start);
  need("end", end, "must be finite and behind the start",
       [&](std::size_t q) { return std::isfinite(end[q]) && end[q] > start[q]; });
  need("slots", slots, "1 to the height it has", [&](std::size_t q) {
    return slots[q] >= 1 &&
           static_cast<double>(slots[q]) <= chains.height[static_cast<std::size_t>(rows[q])];
  });
  need("pseudo_job", rows, "comes after a later one",
       [&](std::size_t q) { return !follows(q) || rows[q] >= rows[q - 1]; });
  need("start", start, "before the piece before has ended",
       [&](std::size_t q) { return !follows(q) || start[q] >= end[q - 1]; });
  check_work(pieces, chains);
}

void validate(const TransportColumns& columns) {
  const std::span volume = columns.volume, time = columns.time, room = columns.room;
  const std::span offset = columns.offset, from = columns.from_cell;
  const std::span value = columns.value, slope = columns.slope;
  need_finite("volume", volume);
  need_finite("time", time);
  need_finite("room", room);
  need_finite("value", value);
  need_finite("slope", slope);
  const auto at_least_0 = [](std::span<const double> values) {
    return [=](std::size_t k) { return values[k] >= 0.0; };
  };
  need("volume", volume, "must be at least 0", at_least_0(volume));
  need("room", room, "must be above 0", [&](std::size_t k) { return room[k] > 0.0; });
  need("time", time, "times must not fall",
       [&](std::size_t k) { return k == 0 || time[k] >= time[k - 1]; });
  need("slope", slope, "must be at least 0", at_least_0(slope));
  check_length("room", room.size(), time.size(), "time");
  check_ends(offset, volume.size(), value.size());
  if (from.size() != value.size() || slope.size() != value.size()) {
    throw std::invalid_argument("from_cell, value and slope differ in length");
  }
  need("offset", offset, "every flow needs a row",
       [&](std::size_t j) { return j == 0 || offset[j] > offset[j - 1]; });
  std::vector<bool> starts(value.size() + 1, false);
  for (const std::int64_t row : offset) starts[static_cast<std::size_t>(row)] = true;
  const std::size_t cells = std::max<std::size_t>(time.size(), 1);
  need("from_cell", from, "rows begin at 0 and then rise", [&](std::size_t r) {
    return in(from[r], 0, cells) && (starts[r] ? from[r] == 0 : from[r] > from[r - 1]);
  });
  const double work = std::accumulate(volume.begin(), volume.end(), 0.0);
  const double most = std::accumulate(room.begin(), room.end(), 0.0);
  if (work > most * (1.0 + kAmple)) {
    throw std::invalid_argument("room: " + shown(most) + " in all, but volume is " + shown(work));
  }
  // Where a row ends the next one must not begin lower.
  need("value", value, "costs must not fall", [&](std::size_t r) {
    if (starts[r]) return true;
    const double span =
        time[static_cast<std::size_t>(from[r])] - time[static_cast<std::size_t>(from[r - 1])];
    const double least = value[r - 1] + slope[r - 1] * span;
    return value[r] >= least - kAmple * (1.0 + std::abs(least));
  });
}

}  // namespace malleable
