/* What a caller's own compiled policy sees, and how it is called: plain C, for cffi, Numba, Cython
 * and C.
 *
 * Columns have one entry for each present job, by arrival; those by phase have two, maps first
 * (column[2 * job + phase]); those by pool have as many as there are pools (column[pools * job +
 * pool]): one if any slot runs any task, two if maps and reduces have slots of their own. All of it
 * is valid only during the call. */
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
  const double* arrival;    /* seconds */
  const double* weight;     /* importance: factor of the penalty */
  const double* deadline;   /* seconds; infinity: none */
  const int64_t* user;      /* number of the user */
  const double* size;       /* slot-seconds when it came, as estimated */
  const double* attained;   /* slot-seconds of tasks that have ended */
  const double* speedup;    /* p: s slots do s^p */
  const int64_t* waiting;   /* tasks, by phase */
  const int64_t* running;   /* by phase */
  const int64_t* finished;  /* by phase */
  const int64_t* ready;     /* by phase: 1 if its tasks may start */
  const double* work;       /* slot-seconds left, as estimated, by pool */
  const double* spread;     /* standard deviation of work; infinity: unknown */
  const int64_t* min_slots; /* by pool: slots that are guaranteed to it, or its gang size */
  const int64_t* max_slots; /* by pool: slots that it could use */
  const int64_t* capacity;  /* of each pool */
  const int64_t* free;      /* of each pool */
} malleable_policy_state;

/* Writes slots[pools * job + pool], at least 0 and finite; all are 0 before the call. Fractions are
 * rounded down. It may be called from any thread, and must not throw. */
typedef void (*malleable_policy)(const malleable_policy_state* state, double* slots);

#ifdef __cplusplus
}
#endif

#endif
