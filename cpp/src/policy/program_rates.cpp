#include "malleable/policy/program_rates.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/error.hpp"

namespace malleable {
namespace {

constexpr double kPriorExponent = 0.8;       // believed at first: s slots do s^0.8
constexpr double kTowardsPrior = 1.0 / 3.0;  // how far a seen exponent moves towards it
// Rates that change by less stay unchanged.
constexpr double kSameRate = 0.01;

}  // namespace

// Null if nothing is known of the program.
const ProgramRates::Program* ProgramRates::find(std::int64_t program) const {
  const auto at =
      std::lower_bound(programs_.begin(), programs_.end(), program,
                       [](const Program& one, std::int64_t name) { return one.name < name; });
  return at != programs_.end() && at->name == program ? &*at : nullptr;
}

// A job of the program did so much work in so many seconds on so many slots; true if the rates of
// the program change by that.
bool ProgramRates::observe(std::int64_t program, std::int64_t slots, double work, double seconds) {
  if (slots < 2 || slots > kMostEntries || !(work > 0.0) || !(seconds > 0.0)) return false;
  const auto at =
      std::lower_bound(programs_.begin(), programs_.end(), program,
                       [](const Program& one, std::int64_t name) { return one.name < name; });
  Program& own = at != programs_.end() && at->name == program
                     ? *at
                     : *programs_.insert(at, Program{program, {}});
  const auto place =
      std::lower_bound(own.seen.begin(), own.seen.end(), slots,
                       [](const Seen& one, std::int64_t count) { return one.slots < count; });
  if (place == own.seen.end() || place->slots != slots) {
    own.seen.insert(place, {slots, work, seconds, work / seconds});
    return true;
  }
  place->work += work;
  place->seconds += seconds;
  if (!(std::fabs(place->rate() - place->reported) > kSameRate * place->reported)) return false;
  place->reported = place->rate();
  return true;
}

// The speed with 1 to `most` slots: as seen, and powers between and beyond.
std::vector<double> ProgramRates::rates(std::int64_t program, std::int64_t most) const {
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(most, 1, kMostEntries));
  std::vector<double> rates(count, 1.0);
  const Program* own = find(program);
  const std::vector<Seen> seen = own != nullptr ? own->seen : std::vector<Seen>();
  double last = 1.0, rate = 1.0;  // last seen slots and their rate
  double power = kPriorExponent;
  auto next = seen.begin();
  for (std::size_t k = 1; k < count; ++k) {
    const auto slots = static_cast<double>(k + 1);
    if (next != seen.end() && static_cast<double>(next->slots) <= slots) {
      last = slots;
      rate = next->rate();
      power = std::log(std::max(rate, 1.0)) / std::log(last);
      power += kTowardsPrior * (kPriorExponent - power);
      ++next;
    }
    const double p = next == seen.end() ? power
                                        : std::log(next->rate() / rate) /
                                              std::log(static_cast<double>(next->slots) / last);
    rates[k] = std::max(rates[k - 1], rate * std::pow(slots / last, p));
  }
  return rates;
}

SpeedupView ProgramRates::learnt(const SpeedupView& own, std::span<const std::int64_t> programs,
                                 std::span<const std::int64_t> max_slots, std::int64_t slots,
                                 SpeedupColumns& storage) const {
  if (std::none_of(programs.begin(), programs.end(), [](std::int64_t p) { return p >= 0; })) {
    return own;
  }
  for (std::size_t j = 0; j < programs.size(); ++j) {
    if (programs[j] < 0) {
      storage.add(own, j);
    } else {
      storage.add(1.0, rates(programs[j], std::min(max_slots[j], slots)));
    }
  }
  return storage.view();
}

void ProgramRates::check(std::span<const std::int64_t> programs) {
  for (std::size_t j = 0; j < programs.size(); ++j) {
    if (programs[j] >= -1) continue;
    throw FieldError("program", j, static_cast<long long>(programs[j]),
                     "must be a number from 0 on, or -1 for none");
  }
}

}  // namespace malleable
