// A lower bound of the total response time in a tandem queue, whose jobs have work at a map station
// and at a shuffle station (Lin, Wierman, Zhang, Tan 2013, section 5.1).
//
// Each station alone, served shortest remaining first, has a total response no larger than in any
// schedule of both. Between times at which both lone stations are empty, the larger of the two
// totals counts; the bound is the sum of these. O(log n) a job, memory for the jobs of one busy
// period.
#pragma once

#include <functional>
#include <queue>
#include <span>
#include <vector>

namespace malleable {

class SrptBound {
 public:
  // Jobs in the order of their arrivals, sizes in seconds at full speed.
  void feed(std::span<const double> arrival, std::span<const double> map,
            std::span<const double> shuffle);
  // The bound for the jobs fed so far.
  double total() const;

 private:
  struct Server {
    struct Entry {
      double left;
      double arrival;
      bool operator>(const Entry& other) const { return left > other.left; }
    };
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;
    double now = 0.0;
    double response = 0.0;  // total of the busy period so far
    void advance(double until);
  };
  Server map_, shuffle_;
  double closed_ = 0.0;  // of busy periods that have ended
};

}  // namespace malleable
