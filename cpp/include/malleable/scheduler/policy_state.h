/* What a compiled policy of one's own sees, and how it is called: plain C, for cffi, Numba, Cython
 * and C.
 *
 * Columns have one entry a job that is here, by arrival; those by phase two, maps first
 * (column[2 * job + phase]); those by pool as many as there are pools (column[pools * job + pool]):
 * one where any slot runs any task, two where maps and reduces have slots of their own. All of it
 * is valid during the call alone. */
#ifndef MALLEABLE_SCHEDULER_POLICY_STATE_H
#define MALLEABLE_SCHEDULER_POLICY_STATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct malleable_policy_state {
  double now; /* seconds */
  int64_t jobs, pools;
  const int64_t* ids;
  const double* arrival;
  const double* weight;
  const double* deadline;
  const int64_t* user;
  const double* size;       /* slot-seconds when it came, as estimated */
  const double* attained;   /* slot-seconds of tasks that have ended */
  const double* speedup;    /* p where s slots do s^p */
  const int64_t* waiting;   /* tasks, by phase */
  const int64_t* running;   /* by phase */
  const int64_t* finished;  /* by phase */
  const int64_t* ready;     /* by phase: 1 where tasks may start */
  const double* work;       /* slot-seconds left, as estimated, by pool */
  const double* spread;     /* standard deviation of work; infinity: unknown */
  const int64_t* min_slots; /* by pool */
  const int64_t* max_slots; /* by pool: slots that it could use */
  const int64_t* capacity;  /* of each pool */
  const int64_t* free;      /* of each pool */
} malleable_policy_state;

/* Writes slots[pools * job + pool], at least 0 and finite; 0 before. Fractions are rounded down. It
 * may be called from any thread, and must not throw. */
typedef void (*malleable_policy)(const malleable_policy_state* state, double* slots);

#ifdef __cplusplus
}
#endif

#endif
