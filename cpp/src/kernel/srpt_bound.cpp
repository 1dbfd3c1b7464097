// Each station alone serves the job with the least work left (SRPT); the bound is the larger of
// both sums of response times, added up over busy periods.
#include "malleable/kernel/srpt_bound.hpp"

#include <algorithm>

#include "malleable/model/problem.hpp"

namespace malleable {

void SrptBound::Server::advance(double until) {
  while (!waiting.empty()) {
    Entry head = waiting.top();
    const double end = now + head.left;
    waiting.pop();
    if (end > until) {
      head.left -= until - now;
      waiting.push(head);
      now = until;
      return;
    }
    now = end;
    response += end - head.arrival;
  }
}

void SrptBound::feed(std::span<const double> arrival, std::span<const double> map,
                     std::span<const double> shuffle) {
  for (std::size_t j = 0; j < arrival.size(); ++j) {
    map_.advance(arrival[j]);
    shuffle_.advance(arrival[j]);
    if (map_.waiting.empty() && shuffle_.waiting.empty()) {
      closed_ += std::max(map_.response, shuffle_.response);
      map_.response = shuffle_.response = 0.0;
    }
    if (map_.waiting.empty()) map_.now = arrival[j];
    if (shuffle_.waiting.empty()) shuffle_.now = arrival[j];
    if (map[j] > 0.0) map_.waiting.push({map[j], arrival[j]});
    if (shuffle[j] > 0.0) shuffle_.waiting.push({shuffle[j], arrival[j]});
  }
}

double SrptBound::total() const {
  Server map = map_, shuffle = shuffle_;
  map.advance(kInfinity);
  shuffle.advance(kInfinity);
  return closed_ + std::max(map.response, shuffle.response);
}

}  // namespace malleable
