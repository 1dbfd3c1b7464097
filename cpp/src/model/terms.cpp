#include "malleable/model/terms.hpp"

#include <cmath>

#include "malleable/model/error.hpp"
#include "malleable/model/large_pages.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {
namespace {

// Checks the steps of row j.
void check_steps(std::size_t j, const SlaView::Steps& steps) {
  const auto& [time, penalty] = steps;
  for (std::size_t k = 0; k < time.size(); ++k) {
    if (!(std::fabs(time[k]) <= kLatestTime)) {
      throw FieldError("sla", j, time[k],
                       "a step's time must be finite, from -1e12 to 1e12 seconds");
    }
    if (!kWeightRange.holds(penalty[k])) {
      throw FieldError("sla", j, penalty[k],
                       "a step's penalty must be finite and at least 0: 0 or from 1e-12 to 1e12");
    }
    if (k > 0 && time[k] <= time[k - 1]) {
      throw FieldError("sla", j, time[k], "the steps' times must increase");
    }
    if (k > 0 && penalty[k] < penalty[k - 1]) {
      throw FieldError("sla", j, penalty[k], "penalties are cumulative and must not fall");
    }
  }
}

}  // namespace

void SlaColumns::clear() {
  offset.assign(1, 0);
  time.clear();
  penalty.clear();
}

void SlaColumns::add(SlaView::Steps steps) {
  time.insert(time.end(), steps.time.begin(), steps.time.end());
  penalty.insert(penalty.end(), steps.penalty.begin(), steps.penalty.end());
  offset.push_back(static_cast<std::int64_t>(time.size()));
}

void TermColumns::complete(std::size_t rows) {
  if (deadline.empty()) fill_large(deadline, rows, kInfinity);
  if (sla.offset.empty()) fill_large(sla.offset, rows + 1, std::int64_t{0});
}

void TermColumns::clear() {
  for (auto* column : {&arrival, &weight, &deadline, &original}) column->clear();
  sla.clear();
}

void TermColumns::add(const TermsView& from, std::size_t row) {
  arrival.push_back(from.arrival[row]);
  weight.push_back(from.weight[row]);
  deadline.push_back(from.deadline[row]);
  original.push_back(from.original[row]);
  sla.add(from.sla.of(row));
}

// `beside`: the column that has `rows` rows, for the message.
void validate(const SlaView& sla, std::size_t rows, const char* beside) {
  const auto& [offset, time, penalty] = sla;
  // An empty column, which lacks even the 0 at its front, fails here.
  check_length("sla", offset.empty() ? 0 : offset.size() - 1, offset.empty() ? rows + 1 : rows,
               beside);
  if (offset.front() != 0 || offset.back() != static_cast<std::int64_t>(time.size()) ||
      time.size() != penalty.size()) {
    throw std::invalid_argument("sla offsets do not match the steps");
  }
  for (std::size_t j = 0; j < rows; ++j) {
    if (offset[j + 1] < offset[j]) throw std::invalid_argument("sla offsets decrease");
  }
  for (std::size_t j = 0; j < rows; ++j) check_steps(j, sla.of(j));
}

void validate(const TermsView& terms, std::size_t rows, const char* beside) {
  check_length("arrival", terms.arrival.size(), rows, beside);
  check_length("weight", terms.weight.size(), rows, beside);
  check_length("deadline", terms.deadline.size(), rows, beside);
  check_length("size", terms.original.size(), rows, beside);
  check_times("arrival", terms.arrival);
  check_amounts("weight", terms.weight, kWeightRange);
  check_deadlines(terms.deadline);
  check_amounts("size", terms.original, kTotalRange);
  validate(terms.sla, rows, beside);
}

}  // namespace malleable
