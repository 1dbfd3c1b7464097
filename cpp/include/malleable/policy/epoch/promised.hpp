// Ends that are promised at arrival and kept: a compromise between FLEX, where new jobs pass all
// jobs with more work left, and FIFO, where ends never move.
//
// Jobs stand in a list, each with the most slots that it takes: the cheapest count by its price of
// a slot (policy/concave; no higher than the price at which the jobs that are here ask for all
// slots). In the order of the list each takes what those before it leave. So a new job changes the
// schedule only for the jobs behind it, and without new jobs every end comes as planned.
//
// It minimises the objective plus Lambda times the sum of |end - promised| / (promised - arrival),
// where Lambda is a price times the mean penalty of a promised job's time. The price is the
// smallest that keeps the mean error at a part of `target`: it rises while errors of ended jobs,
// and delays of present jobs, add up to more, and falls while they add up to less. So
//   - a promised job weighs Lambda / (promised - arrival) more if a new job would pass it. The new
//     job goes where Smith's rule is best for it and the jobs that it passes;
//   - slots that the list leaves idle go to jobs by gains (kernel/marginal_gains), but only to jobs
//     whose earlier end is worth more than the error.
// Because new jobs will pass, the promised time is longer than planned, by the factor (1 - rho) to
// the power -theta. Here rho is the load of recent arrivals that would have passed the job, and
// theta the median exponent of ended jobs (1/2 at first).
//
// O(J log J) a decision, with gangs O(J) for each of their ends; a new job adds O(J) and the recent
// arrivals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/marginal_gains.hpp"
#include "malleable/kernel/shared_packing.hpp"
#include "malleable/policy/epoch/instance_rule.hpp"

namespace malleable {

class Promised {
 public:
  // Gives slots, and promises ends to the jobs that have none yet.
  void decide(Scene& at, InstanceRule& by);
  // These jobs end at the time of the next decision; other jobs that are gone then were cancelled.
  void finish(std::span<const std::int64_t> ids) {
    ended_.insert(ended_.end(), ids.begin(), ids.end());
  }
  // [s] Promised ends by row, absolute; infinite: none. O(J).
  std::vector<double> ends(const JobTable& jobs) const;

  void state(State& s) {
    s(list_, ended_, known_, began_, started_, recent_, slips_);
    s(paid_, count_, over_, late_, all_price_);
  }

 private:
  struct Task {  // the jobs and the time of a decision
    const Problem& problem;
    SpeedupView speedup;
    const JobTable& jobs;           // ids of new ones are larger than any before
    std::span<const double> value;  // by row: penalty of a second
    double coming = 0.0;            // mean number of jobs that come later
    double target = 0.0;            // the mean error that is accepted
  };
  struct Entry {
    std::int64_t id = 0;
    double promised = kInfinity;  // [s] absolute, infinite until promised
    // [s] From the arrival to the plan's end; to the promised one.
    double planned_seconds = 0.0, promised_seconds = 0.0;
    double most = 0.0;  // slots
    // [s] When it was promised, and how long it then had to go by plan; its slip, -log(1 - rho).
    double since = 0.0, planned = 0.0, slip = 0.0;
    void state(State& s) {
      s(id, promised, planned_seconds, promised_seconds, most, since, planned, slip);
    }
  };
  struct Arrival {
    double now, work, key;
    void state(State& s) { s(now, work, key); }
  };
  struct Slip {  // of an ended job: the exponent at which its promise would have been exact
    double theta, weight;
    void state(State& s) { s(theta, weight); }
  };

  // Computes keys and rows of the list, and removes jobs that left.
  void update_list(const Task& task);
  // Sets lambda_ and the prices.
  void weigh(const Task& task);
  // Whether all jobs together ask for more slots at this price than there are.
  bool asks_more(const Task& task, double price) const;
  // The price at which all jobs together ask for as many slots as there are.
  double price_of_all(const Task& task);
  // The number of slots on which the job's work is cheapest at a price of a slot-second.
  double asked(const Task& task, Index row, double price) const;
  // Inserts new jobs into the list, each where passing the jobs behind saves most.
  void insert_new(const Task& task);
  std::size_t place_of(const Task& task, Index row) const;
  // The cost of a second by which the job misses its promise.
  double error_weight(const Entry& entry) const;
  // Gives slots in the order of the list, and computes all ends.
  void lay_out(const Task& task, std::span<double> slots);
  // Promises ends to jobs that have none yet.
  void promise_ends(const Task& task);
  void promise_end(const Task& task, std::size_t place, double theta);
  // Sets late_.
  void count_late(const Task& task);
  // Adds the error of an ended job to over_.
  void count_error(const Entry& entry, double now, double target);
  // Learns theta (Slip) from an ended job; the weighted median of what was learnt.
  void learn(const Entry& entry, double now);
  double median_slip() const;
  // The load of recent arrivals that would go before a job with this key.
  double passing(const Task& task, double key) const;
  // Remembers the arrival for passing().
  void note_arrival(const Task& task, Index row);
  // Gives the slots that the list leaves idle.
  void bring_forward(const Task& task, std::span<double> slots);

  std::vector<Entry> list_;
  std::int64_t known_ = 0;           // smaller ids have been in the list
  double began_ = 0.0;               // [s] time of the first decision
  bool started_ = false;             // a decision has been made
  std::vector<std::int64_t> ended_;  // since the last decision
  std::vector<Arrival> recent_;
  std::vector<Slip> slips_;
  double paid_ = 0.0, count_ = 0.0;  // recent jobs: sum of promised penalties, and number
  // Sum of errors beyond the aim: of ended jobs, and of present jobs that are late.
  double over_ = 0.0, late_ = 0.0;
  double all_price_ = 1.0;  // the last price at which all jobs asked for all slots

  // Lambda; the mean price of a slot-second; that of one job behind.
  double lambda_ = 0.0, price_ = 0.0, slot_price_ = 0.0;
  std::vector<double> key_, end_;  // by row: work at the mean price; seconds until the end
  std::vector<Index> row_;         // by place in the list
  std::vector<double> has_;        // by row: slots at the time that the schedule has reached
  Problem laid_;                   // with the most slots that jobs take
  SharedPacking packing_;          // of gangs
  SpeedupHulls hulls_;
  MarginalGains gains_;
  Problem spare_;  // the slots that the list leaves idle, and who may have them
  std::vector<double> worth_, value_;
};

}  // namespace malleable
