// SRPT (shortest remaining processing time first) on a pool of machines without precedence between
// map and reduce, kept incrementally.
//
// In each step the jobs with the least total work left get machines first, as many as they have
// units left; within a job, map units go before reduce units. The total flow time of this schedule
// is a lower bound for every map-and-reduce schedule (Zheng, Shroff, Sinha 2013, lemma 1), and the
// policy ASRPT (policy/asrpt.hpp) takes its map tasks from it. While no job arrives the order of
// the jobs does not change, so several steps may be poured (served) at once. For n jobs, add and
// cancel take O(log n), pour O(log n) a job served.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/model/map_reduce.hpp"

namespace malleable {

class VirtualSrpt {
 public:
  struct Served {
    std::int64_t sequence;
    Index tag;     // the caller's, from add()
    double map;    // units of map work served now
    double total;  // map and reduce
    bool done;
  };

  // Adds a job with work; ties go to the smaller sequence number. Returns its handle, which another
  // job may get once this one is done.
  Index add(std::int64_t sequence, Index tag, double map, double total);

  // Forgets a job that is not done; nothing happens if the handle belongs to another job by now.
  void cancel(Index handle, std::int64_t sequence);

  // Serves `capacity` units in order; the result is valid until the next call.
  std::span<const Served> pour(double capacity);

  // How many jobs pour(capacity) would end; changes nothing. O(k log k) for k such jobs.
  std::int64_t endings(double capacity);

  std::size_t size() const { return order_.size(); }

  void state(State& s) { s(order_, jobs_, free_); }

 private:
  struct Job {
    std::int64_t sequence;
    Index tag;          // the caller's, from add()
    double map, total;  // map work left, and all work left

    void state(State& s) { s(sequence, tag, map, total); }
  };
  void release(Index handle);

  IndexedHeap order_;
  std::vector<Job> jobs_;
  std::vector<Index> free_;
  std::vector<Served> served_;
};

// Fills the step in which each job ends in the virtual schedule. Jobs are in order of arrival; jobs
// without work end in the step before their arrival. The sum of finish - arrival + 1 is the bound
// of lemma 1.
//
// Returns what can be added to that sum, because a job with both phases never ends in the step of
// its arrival. SRPT ends as many jobs by any time as any schedule can (Schrage 1968). In step t the
// new jobs with both phases stay unfinished, and of the others at most as many are done as SRPT
// without the new ones would end. Summed over the steps, the difference to SRPT's own endings is
// delay that no schedule avoids. O(J log J), however many steps there are.
std::int64_t srpt_finish(const MapReduceView& jobs, std::int64_t machines,
                         std::span<std::int64_t> finish);

}  // namespace malleable
