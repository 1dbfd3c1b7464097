/* The C interface: epochs, the scheduler, plans and checks, for any language that can call C.
 *
 * Objects. malleable_X_new makes an object and gives you a pointer to it; malleable_X_free ends the
 * object (if you give it a null pointer, nothing happens).
 *
 * Errors. Every function with the result int returns a malleable_status. If this is not
 * MALLEABLE_OK, malleable_message() says what is wrong, and the call has changed nothing, unless
 * the comment of the function says otherwise.
 *
 * Columns are arrays of yours with `count` entries each. A function reads or writes them during the
 * call and does not keep them. To leave a column out, give a null pointer. Jobs that you add then
 * have the default, jobs that you update keep what they had, and an output column is not written.
 *
 * Room. If a function writes rows, `room` says for how many rows your arrays have room, and the
 * function sets `*rows` to the number of rows that it wrote. `room` must be at least the size of
 * the object (malleable_X_size), unless the comment of the function says otherwise.
 *
 * Units. Times are in seconds, work is in slot-seconds. Ids are never used twice. `now` may never
 * be less than in an earlier call. If a function takes the capacity as an argument beside `now`, -1
 * leaves the capacity as it was. The Python classes of the same names say what each column means
 * and which values it may have.
 *
 * Threads. Different threads may use different objects at the same time. If two threads call the
 * same object at the same time, one of them gets MALLEABLE_BUSY. No function takes a lock or throws
 * an exception.
 *
 * Memory. Once an object has grown, decisions, updates and the end of jobs allocate no memory.
 * Additions allocate memory if tables grow. If task times are learnt, the first task of a phase
 * does so, too.
 *
 * Fork. Objects consist of memory only, so a child process has copies of its own.
 *
 * Versions. From version 6 on, new functions are added at the end of malleable_api, and structures
 * do not change. Each of their members takes eight bytes.
 */
#ifndef MALLEABLE_MALLEABLE_H
#define MALLEABLE_MALLEABLE_H

#include <stdint.h>

/* The shared library shows only functions that have this mark. */
#ifndef MALLEABLE_EXPORT
#if defined(__GNUC__) && !defined(_WIN32)
#define MALLEABLE_EXPORT __attribute__((visibility("default")))
#else
#define MALLEABLE_EXPORT
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* This number grows whenever functions are added. Version 6 took functions out of the middle of
 * malleable_api (those of adaptive epochs), and a member of malleable_cluster_jobs. So programs
 * that were built for versions up to 5 have to be built again. */
#define MALLEABLE_API_VERSION 6

/* If a job may use all slots, give it this number as max_slots. */
#define MALLEABLE_ALL_SLOTS (INT64_C(1) << 62)

typedef enum malleable_status {
  MALLEABLE_OK = 0,
  MALLEABLE_INVALID = 1,   /* wrong input: the message names field, row and value */
  MALLEABLE_BUSY = 2,      /* another thread is in the object */
  MALLEABLE_NO_MEMORY = 3, /* the object may have to be freed */
  MALLEABLE_FAILED = 4     /* anything else */
} malleable_status;

/* Kinds of penalties. In an objective, the word behind "sum:" or "max:" names the kind. */
typedef enum malleable_kind {
  MALLEABLE_RESPONSE = 0,
  MALLEABLE_COMPLETION = 1,
  MALLEABLE_STRETCH = 2,
  MALLEABLE_TARDY = 3,
  MALLEABLE_TARDINESS = 4,
  MALLEABLE_LATENESS = 5,
  MALLEABLE_SLA = 6,
  MALLEABLE_STRICT = 7,
  MALLEABLE_CUSTOM = 8
} malleable_kind;

typedef enum malleable_plan_status {
  MALLEABLE_PLAN_OK = 0,
  MALLEABLE_PLAN_MINIMA_SCALED = 1,
  MALLEABLE_PLAN_TRUNCATED = 2,
  MALLEABLE_PLAN_UNMET = 3,
  MALLEABLE_PLAN_INFEASIBLE = 4
} malleable_plan_status;

typedef struct malleable_epoch malleable_epoch;
typedef struct malleable_flow_epoch malleable_flow_epoch;
typedef struct malleable_overlap_epoch malleable_overlap_epoch;
typedef struct malleable_slotted_epoch malleable_slotted_epoch;
typedef struct malleable_scheduler malleable_scheduler;
typedef struct malleable_plan malleable_plan;

/* A penalty of your own: what it costs that a job or flow ends at the absolute time `completion`.
 * An epoch gives the id of the job or flow, malleable_plan_jobs and malleable_plan_flows give its
 * row. The penalty must not fall as time goes on, and must not be NaN. If it is infinite from some
 * time on, this time is a strict deadline. The function is called in the thread that calls the
 * library. */
typedef double (*malleable_penalty)(int64_t job, double completion);

/* Shares [classes x nodes, row by row] that solve the linear programs of the adaptive scheduler,
 * from arrival rates of classes, execution rates [classes x nodes] and numbers of nodes. 0: solved.
 */
typedef int (*malleable_matcher)(void* context, int64_t classes, int64_t nodes,
                                 const double* arrival_rates, const double* execution_rates,
                                 const double* numbers, double* shares);

/* ---- Tables ---- */

/* In these structures: if you may leave a column out, the comment behind the column begins with the
 * value that the column then has. */

/* Jobs. `work` is needed. The SLA steps of row j have the places from sla_offset[j] to before
 * sla_offset[j + 1] in sla_time and sla_penalty. */
typedef struct malleable_jobs {
  int64_t count;
  const double* work;
  const double* arrival;    /* 0 */
  const int64_t* min_slots; /* 0 */
  const int64_t* max_slots; /* all slots */
  const double* weight;     /* 1 */
  const double* deadline;   /* infinity, that is, no deadline */
  const double* size;       /* the work; it is the work that the job had when it came */
  const uint8_t* kind;      /* the kind of the objective; it is a malleable_kind */
  const int64_t* sla_offset;
  const double* sla_time;
  const double* sla_penalty;
  const double* speedup; /* 1; it is p if s slots are s^p times as fast as one */
  /* Instead of p, row j may have rates: how many times as fast as one slot 1, 2, ... slots are.
   * They have the places from rate_offset[j] to before rate_offset[j + 1] in `rate`. */
  const int64_t* rate_offset;
  const double* rate;
} malleable_jobs;

typedef struct malleable_job_changes {
  const double* work;
  const int64_t* min_slots;
  const int64_t* max_slots;
  const double* weight;
  const double* deadline;
  const int64_t* sla_offset;
  const double* sla_time;
  const double* sla_penalty;
} malleable_job_changes;

/* Flows. `job_offset` and `work` are needed. Flow f has the jobs from job_offset[f] to before
 * job_offset[f + 1]. Job i waits for other jobs of its flow: their rows have the places from
 * parent_offset[i] to before parent_offset[i + 1] in `parent`. */
typedef struct malleable_flows {
  int64_t flows;
  const int64_t* job_offset;
  const double* work;           /* of jobs */
  const int64_t* max_slots;     /* of jobs: all slots */
  const int64_t* parent_offset; /* no job waits for another job */
  const int64_t* parent;
  const double* arrival;  /* of flows: 0 */
  const double* weight;   /* of flows: 1 */
  const double* deadline; /* of flows: infinity, that is, no deadline */
  const double* size;     /* of flows: the work of all jobs of the flow */
  const uint8_t* kind;    /* of flows: the kind of the objective */
  const int64_t* sla_offset;
  const double* sla_time;
  const double* sla_penalty;
  /* The last two columns are for epochs only. */
  const int64_t* tasks;     /* of jobs: 0; if the work is not known, it is the number of tasks */
  const int64_t* continues; /* of jobs: -1; if the job is a second phase: row of the first phase */
} malleable_flows;

typedef struct malleable_flow_changes {
  const double* work; /* of jobs */
  const int64_t* tasks;
  const int64_t* max_slots;
  const double* weight; /* of flows */
  const double* deadline;
  const int64_t* sla_offset;
  const double* sla_time;
  const double* sla_penalty;
} malleable_flow_changes;

/* Jobs with a map phase and a shuffle phase. Work is in seconds of the whole station: how long the
 * phase takes if it has all map slots, or all shuffle slots. To add jobs, `map` and `shuffle` are
 * needed. */
typedef struct malleable_overlap_jobs {
  const double* arrival; /* 0 */
  const double* map;
  const double* shuffle;
  const double* ready;             /* it follows from the progress of the map phase; it is the
                                    * shuffle work that can be done now */
  const double* max_map_slots;     /* infinity, that is, all */
  const double* max_shuffle_slots; /* infinity, that is, all */
} malleable_overlap_jobs;

/* Jobs of map and reduce tasks on machines of equal speed. To add jobs, `maps` and `reduce_left`
 * are needed. */
typedef struct malleable_slotted_jobs {
  const double* arrival;     /* 0 */
  const int64_t* maps;       /* map tasks that wait */
  const int64_t* reduces;    /* 0; reduce tasks that wait and may start */
  const int64_t* running;    /* 0; machines that the job holds */
  const double* map_left;    /* one slot of time for each map task that waits; machine seconds */
  const double* reduce_left; /* machine seconds */
} malleable_slotted_jobs;

/* Nodes and users. `map_slots` is needed. If `generic` is 1, slots run both maps and reduces; the
 * column map_slots then has all slots of each node, and reduce_slots is not read. */
typedef struct malleable_cluster {
  int64_t nodes;
  int64_t generic;
  const int64_t* map_slots;
  const int64_t* reduce_slots; /* 0 */
  const double* rate;          /* 1 */
  const int64_t* type;         /* 0 */
  const int64_t* rack;         /* 0 */
  const double* storage;       /* infinity; bytes a second */
  const double* link;          /* infinity; bytes a second */
  int64_t users;
  const double* user_minimum;  /* 0 */
  const double* user_priority; /* 1 */
} malleable_cluster;

/* Jobs of map and reduce tasks on a cluster. `maps` is needed. Users have numbers from 0. If
 * these jobs have new users, say how many (new_users): the new numbers follow the numbers that
 * there are. */
typedef struct malleable_cluster_jobs {
  int64_t count;
  const double* arrival; /* now */
  const int64_t* maps;
  const int64_t* reduces;       /* 0 */
  const double* map_seconds;    /* 0, that is, not known; seconds of a task on a node of rate 1 */
  const double* reduce_seconds; /* 0, that is, not known */
  const int64_t* min_map_slots; /* 0 */
  const int64_t* min_reduce_slots;
  const double* weight;   /* 1 */
  const double* deadline; /* infinity, that is, no deadline */
  const int64_t* user;    /* 0 */
  const int64_t* program; /* number of the program, -1: none */
  const int64_t* flow;    /* each job is a flow; jobs with one number are one flow */
  /* No job waits. Job k waits for other jobs of this table: their rows have the places
   * from after_offset[k] to before after_offset[k + 1] in `after`. */
  const int64_t* after_offset;
  const int64_t* after;
  const double* block; /* bytes that each map reads, for policy adaptive: 0 */
  int64_t new_users;
  const double* new_user_minimum;  /* 0 */
  const double* new_user_priority; /* 1 */
} malleable_cluster_jobs;

/* A column by its name, for columns that a structure does not have. Set `real` or `whole`, and
 * leave the other one null. */
typedef struct malleable_column {
  const char* name;
  const double* real;
  const int64_t* whole;
} malleable_column;

typedef struct malleable_adaptive_options {
  double grouped;   /* 1: nodes that are alike are matched together; 0: single nodes */
  double by_slots;  /* 1: rates are slots over time; 0, as printed: 1 over time */
  double fallback;  /* 1 or 0 */
  double guard;     /* 0: off */
  double threshold; /* solve again when a rate moved by this share */
  double memory;    /* seconds */
  double max_wait;  /* seconds */
  double patience;  /* seconds */
} malleable_adaptive_options;

/* The options that malleable_scheduler_new takes. (malleable_scheduler_new_with takes every option,
 * by its name.) effort: -1 means none. by_user: -1 means 1 if the cluster names users. speedup: p
 * of s^p. */
/* clang-format off */
#define MALLEABLE_SCHEDULER_OPTIONS(X)                                                             \
  X(double, hysteresis) X(int64_t, effort) X(int64_t, at_least_one) X(int64_t, by_user)            \
  X(int64_t, learn) X(double, slow_start) X(int64_t, split_copy) X(double, delay)                  \
  X(double, rack_delay) X(int64_t, replicas) X(double, ageing) X(int64_t, in_order)                \
  X(int64_t, gang) X(double, pool_minimum) X(double, speedup)
/* clang-format on */
typedef struct malleable_scheduler_options {
#define MALLEABLE_MEMBER(type, name) type name;
  MALLEABLE_SCHEDULER_OPTIONS(MALLEABLE_MEMBER)
#undef MALLEABLE_MEMBER
} malleable_scheduler_options;

/* How many tasks of each job wait (pending), run, have ended well (done), and have failed for good.
 * A column that you leave out has 0. */
typedef struct malleable_task_counts {
  const int64_t* pending_maps;
  const int64_t* pending_reduces;
  const int64_t* running_maps;
  const int64_t* running_reduces;
  const int64_t* done_maps;
  const int64_t* done_reduces;
  const int64_t* failed_maps;
  const int64_t* failed_reduces;
} malleable_task_counts;

/* The pieces of a schedule: the job of row job[k] holds slots[k] slots from start[k] to end[k]. */
typedef struct malleable_pieces {
  int64_t count;
  const int64_t* job;
  const double* start;
  const double* end;
  const int64_t* slots;
} malleable_pieces;

/* Declares a function, and a type NAME_function for the table at the end. */
#define MALLEABLE_FUNCTION(result, name, arguments) \
  typedef result name##_function arguments;         \
  MALLEABLE_EXPORT name##_function name

/* The version of the package. */
MALLEABLE_FUNCTION(const char*, malleable_version, (void));
/* What was wrong in the last call of this thread that failed. The text is valid until the next call
 * of this thread that fails. */
MALLEABLE_FUNCTION(const char*, malleable_message, (void));
/* Some decisions say in the column `bound`, by a number, why a job has no more slots. This is the
 * reason of a number as text. */
MALLEABLE_FUNCTION(const char*, malleable_bound_text, (int64_t bound));

/* ---- Epoch: malleable jobs ---- */

/* objective: sum:KIND or max:KIND. policy: flex, fair, fifo or wdeq. min_mode: guarantee or gang.
 * effort: how many candidates (schedules) FLEX tries after its fixed orders; -1: none, FLEX takes
 * its own order. */
MALLEABLE_FUNCTION(int, malleable_epoch_new,
                   (int64_t slots, const char* objective, const char* policy, const char* min_mode,
                    double hysteresis, int64_t effort, malleable_epoch** made));
MALLEABLE_FUNCTION(void, malleable_epoch_free, (malleable_epoch * epoch));
/* Sets the penalty of the jobs of kind custom. Call this before you add the first such job. */
MALLEABLE_FUNCTION(int, malleable_epoch_set_penalty,
                   (malleable_epoch * epoch, malleable_penalty penalty));
/* Adds jobs and writes their ids. O(jobs added). */
MALLEABLE_FUNCTION(int, malleable_epoch_add,
                   (malleable_epoch * epoch, const malleable_jobs* jobs, int64_t* ids));
/* Changes jobs. `work` is the work that is left. */
MALLEABLE_FUNCTION(int, malleable_epoch_update,
                   (malleable_epoch * epoch, int64_t count, const int64_t* ids,
                    const malleable_job_changes* changes));
/* These jobs have ended. */
MALLEABLE_FUNCTION(int, malleable_epoch_finish,
                   (malleable_epoch * epoch, int64_t count, const int64_t* ids));
/* These jobs are cancelled. */
MALLEABLE_FUNCTION(int, malleable_epoch_remove,
                   (malleable_epoch * epoch, int64_t count, const int64_t* ids));
/* Writes one row for each job: its id, its slots from now on (`given`), and whether these differ
 * from its slots in the decision before (`changed`: 1 or 0). */
MALLEABLE_FUNCTION(int, malleable_epoch_decide,
                   (malleable_epoch * epoch, double now, int64_t slots, int64_t* ids,
                    int64_t* given, uint8_t* changed, int64_t room, int64_t* rows));
/* The value and the lower bound of the last decision. Call this before anything changes. */
MALLEABLE_FUNCTION(int, malleable_epoch_assess,
                   (malleable_epoch * epoch, double* value, double* lower_bound));
/* The whole schedule that the last decision begins; its rows are those of the decision. Call this
 * before anything changes. */
MALLEABLE_FUNCTION(int, malleable_epoch_plan, (malleable_epoch * epoch, malleable_plan** made));
MALLEABLE_FUNCTION(int, malleable_epoch_size, (malleable_epoch * epoch, int64_t* jobs));
/* As malleable_epoch_decide, for a loop that holds the slots for `period` seconds (0: until a job
 * ends). overloaded: 1 if the jobs that keep coming need more whole slot-periods than there are. (A
 * slot-period is one slot, held for one period.) */
MALLEABLE_FUNCTION(int, malleable_epoch_decide_period,
                   (malleable_epoch * epoch, double now, int64_t slots, double period, int64_t* ids,
                    int64_t* given, uint8_t* changed, int64_t room, int64_t* rows,
                    int64_t* overloaded));
/* The ids of jobs that could use more slots, if the decision is held for a period; otherwise none.
 * If a slot becomes free before the next decision, give it to the first of these jobs. Call this
 * before anything changes. */
MALLEABLE_FUNCTION(int, malleable_epoch_order,
                   (malleable_epoch * epoch, int64_t* ids, int64_t room, int64_t* rows));

/* ---- FlowEpoch: DAGs of malleable jobs ---- */

/* policy: flowflex, flowflex-fast, flowflex-literal, fair or fifo. effort: -1 for none. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_new,
                   (int64_t slots, const char* objective, const char* policy, int64_t effort,
                    double task_work, double hysteresis, double ready_fraction,
                    malleable_flow_epoch** made));
MALLEABLE_FUNCTION(void, malleable_flow_epoch_free, (malleable_flow_epoch * epoch));
MALLEABLE_FUNCTION(int, malleable_flow_epoch_set_penalty,
                   (malleable_flow_epoch * epoch, malleable_penalty penalty));
MALLEABLE_FUNCTION(int, malleable_flow_epoch_set_task_work,
                   (malleable_flow_epoch * epoch, double task_work));
MALLEABLE_FUNCTION(int, malleable_flow_epoch_add,
                   (malleable_flow_epoch * epoch, const malleable_flows* flows, int64_t* flow_ids,
                    int64_t* job_ids));
/* Changes the jobs `ids` and the flows `flow_ids`. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_update,
                   (malleable_flow_epoch * epoch, int64_t count, const int64_t* ids, int64_t flows,
                    const int64_t* flow_ids, const malleable_flow_changes* changes));
/* These jobs have ended, so jobs that waited for them may run. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_finish,
                   (malleable_flow_epoch * epoch, int64_t count, const int64_t* ids));
/* Cancels jobs, with all jobs that wait for them, and whole flows. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_remove,
                   (malleable_flow_epoch * epoch, int64_t count, const int64_t* ids, int64_t flows,
                    const int64_t* flow_ids));
/* Writes one row for each job that has not ended. `ready` is 1 if the job can run: its flow has
 * arrived, and the jobs that it waits for have ended. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_decide,
                   (malleable_flow_epoch * epoch, double now, int64_t slots, int64_t* ids,
                    int64_t* given, uint8_t* changed, uint8_t* ready, int64_t room, int64_t* rows));
/* The flows that ended between the last two decisions. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_ended,
                   (malleable_flow_epoch * epoch, int64_t* flow_ids, int64_t room, int64_t* rows));
/* From now on the loop holds each decision for `period` seconds; 0: until a job ends. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_set_period,
                   (malleable_flow_epoch * epoch, double period));
/* As malleable_epoch_order, for the jobs that are ready; `overloaded` as for
 * malleable_epoch_decide_period. `room` must be at least the number of jobs that have not ended. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_order,
                   (malleable_flow_epoch * epoch, int64_t* ids, int64_t room, int64_t* rows,
                    int64_t* overloaded));
MALLEABLE_FUNCTION(int, malleable_flow_epoch_plan,
                   (malleable_flow_epoch * epoch, malleable_plan** made));
MALLEABLE_FUNCTION(int, malleable_flow_epoch_size,
                   (malleable_flow_epoch * epoch, int64_t* jobs, int64_t* flows));

/* ---- OverlapEpoch: map and shuffle phases that overlap ---- */

/* policy: max-srpt, split-srpt, two-srpt or fcfs. conserving: what happens to slots that a job
 * cannot use; 1: other jobs get them, 0: they stay idle. bounce: how a job ranks that has done more
 * work than was estimated; 0: first, 1: as SRPT with bounce ranks it. */
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_new,
                   (int64_t map_slots, int64_t shuffle_slots, const char* policy,
                    int64_t conserving, int64_t bounce, malleable_overlap_epoch** made));
MALLEABLE_FUNCTION(void, malleable_overlap_epoch_free, (malleable_overlap_epoch * epoch));
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_add,
                   (malleable_overlap_epoch * epoch, int64_t count,
                    const malleable_overlap_jobs* jobs, int64_t* ids));
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_update,
                   (malleable_overlap_epoch * epoch, int64_t count, const int64_t* ids,
                    const malleable_overlap_jobs* changes));
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_finish,
                   (malleable_overlap_epoch * epoch, int64_t count, const int64_t* ids));
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_remove,
                   (malleable_overlap_epoch * epoch, int64_t count, const int64_t* ids));
/* Writes one row for each job that has slots, or had slots until now. `given`, `share` and `bound`
 * have two entries for each row: one for map, then one for shuffle. */
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_decide,
                   (malleable_overlap_epoch * epoch, double now, int64_t map_slots,
                    int64_t shuffle_slots, int64_t* ids, int64_t* given, uint8_t* changed,
                    double* share, uint8_t* bound, int64_t room, int64_t* rows));
/* As malleable_flow_epoch_set_period. */
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_set_period,
                   (malleable_overlap_epoch * epoch, double period));
/* As malleable_flow_epoch_order, for one station. map: 1 for the map station, 0 for the shuffle
 * station. */
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_order,
                   (malleable_overlap_epoch * epoch, int64_t map, int64_t* ids, int64_t room,
                    int64_t* rows, int64_t* overloaded));
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_size,
                   (malleable_overlap_epoch * epoch, int64_t* jobs));

/* ---- SlottedEpoch: map and reduce tasks on machines, slot by slot ---- */

/* slots: the number of machines. slot_seconds: the length of a slot of time. policy: asrpt, unlock,
 * srpt, lrpt, fifo or fair. */
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_new,
                   (int64_t slots, double slot_seconds, const char* policy,
                    malleable_slotted_epoch** made));
MALLEABLE_FUNCTION(void, malleable_slotted_epoch_free, (malleable_slotted_epoch * epoch));
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_add,
                   (malleable_slotted_epoch * epoch, int64_t count,
                    const malleable_slotted_jobs* jobs, int64_t* ids));
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_update,
                   (malleable_slotted_epoch * epoch, int64_t count, const int64_t* ids,
                    const malleable_slotted_jobs* changes));
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_finish,
                   (malleable_slotted_epoch * epoch, int64_t count, const int64_t* ids));
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_remove,
                   (malleable_slotted_epoch * epoch, int64_t count, const int64_t* ids));
/* Writes one row for each job whose tasks start, or that holds machines, or held machines until
 * now. `given` is the number of machines that the job holds; `maps` and `reduces` are the numbers
 * of tasks that start. */
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_decide,
                   (malleable_slotted_epoch * epoch, double now, int64_t slots, int64_t* ids,
                    int64_t* given, uint8_t* changed, int64_t* maps, int64_t* reduces,
                    uint8_t* bound, int64_t room, int64_t* rows));
/* As malleable_flow_epoch_set_period. */
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_set_period,
                   (malleable_slotted_epoch * epoch, double period));
/* As malleable_flow_epoch_order, for the jobs whose tasks wait. */
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_order,
                   (malleable_slotted_epoch * epoch, int64_t* ids, int64_t room, int64_t* rows,
                    int64_t* overloaded));
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_size,
                   (malleable_slotted_epoch * epoch, int64_t* jobs));

/* ---- Scheduler: how many slots each job of a cluster gets, and which tasks start where ---- */

/* Sets all options to their defaults: those of docs/options.md, but with learn = 1. */
MALLEABLE_FUNCTION(int, malleable_scheduler_defaults, (malleable_scheduler_options * options));
/* policy: auto, flex, fair, fifo, wdeq, srpt, max-srpt, split-srpt, asrpt, hesrpt, las, gittins,
 * psbs, flowflex or flowflex-fast. options: null for the defaults. */
MALLEABLE_FUNCTION(int, malleable_scheduler_new,
                   (const malleable_cluster* cluster, const char* policy, const char* objective,
                    const malleable_scheduler_options* options, malleable_scheduler** made));
/* The same, with options as text: "prior=2 assignment=deficit speedup=1;1.9;2.7". docs/options.md
 * and `malleable simulate --options` list all options of policies and of the scheduler. null: the
 * defaults. */
MALLEABLE_FUNCTION(int, malleable_scheduler_new_with,
                   (const malleable_cluster* cluster, const char* policy, const char* objective,
                    const char* options, malleable_scheduler** made));
/* Policy adaptive. Its classes are the programs of jobs whose users have one priority. adaptive:
 * null for the defaults; options: as of malleable_scheduler_new_with. The matcher is called with
 * `context` when jobs come and rates have moved. If the matcher fails, the jobs have come all the
 * same: the next decision or assignment says so, and the one after that asks the matcher again. */
MALLEABLE_FUNCTION(int, malleable_scheduler_new_adaptive,
                   (const malleable_cluster* cluster, const malleable_adaptive_options* adaptive,
                    malleable_matcher matcher, void* context, const char* options,
                    malleable_scheduler** made));
MALLEABLE_FUNCTION(void, malleable_scheduler_free, (malleable_scheduler * scheduler));
MALLEABLE_FUNCTION(int, malleable_scheduler_add,
                   (malleable_scheduler * scheduler, double now, const malleable_cluster_jobs* jobs,
                    int64_t* ids));
/* The same, with columns that the structure lacks: max_slots (whole), speedup (p, real), and for
 * policy adaptive node_rates (real): for each job, phase and type of nodes, what such nodes do of
 * the job's seconds in a second; NaN: the rate of the node. */
MALLEABLE_FUNCTION(int, malleable_scheduler_add_with,
                   (malleable_scheduler * scheduler, double now, const malleable_cluster_jobs* jobs,
                    int64_t columns, const malleable_column* more, int64_t* ids));
/* Says on which nodes the blocks of a job's map tasks are: `copies` nodes for the first map, then
 * for the next. Call this before a map of the job has started. The option replicas must be above 0.
 */
MALLEABLE_FUNCTION(int, malleable_scheduler_set_blocks,
                   (malleable_scheduler * scheduler, int64_t id, int64_t maps, int64_t copies,
                    const int64_t* nodes));
/* The next four functions tell what happened to tasks. Row k is about tasks[k] tasks of a job
 * (null: one task). phase: 0 map, 1 reduce. `*ignored` becomes the number of tasks that were
 * ignored because the event was impossible.
 *
 * Tasks that started, and that malleable_scheduler_assign did not start. */
MALLEABLE_FUNCTION(int, malleable_scheduler_started,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, int64_t* ignored));
/* Tasks that ended well. If the node is not known, give -1, and if the seconds are not known, NaN.
 * If you leave one of these columns out, it is not known for any task. */
MALLEABLE_FUNCTION(int, malleable_scheduler_ended,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, const int64_t* node,
                    const double* seconds, int64_t* ignored));
/* The same. `copying` says how many of a reduce task's seconds are copying if all maps have ended
 * before the task starts. NaN: unknown. If reduce tasks copy nothing, say 0: with take_back=true
 * the scheduler starts some early otherwise, to learn how long they copy. */
MALLEABLE_FUNCTION(int, malleable_scheduler_ended_copying,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, const int64_t* node,
                    const double* seconds, const double* copying, int64_t* ignored));
/* Tasks that failed. They wait again. `task` is needed only for tasks with blocks: the number that
 * malleable_scheduler_starts gave, or -1. */
MALLEABLE_FUNCTION(int, malleable_scheduler_failed,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, const int64_t* task,
                    int64_t* ignored));
/* Maps that had ended well and will run again, because their output is gone. The columns are those
 * of malleable_scheduler_failed. */
MALLEABLE_FUNCTION(int, malleable_scheduler_lost,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, const int64_t* task,
                    int64_t* ignored));
/* Tasks of a phase may start now, also if the option slow_start does not allow it yet. */
MALLEABLE_FUNCTION(int, malleable_scheduler_ready,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase));
/* For engines that show only how many tasks wait and run: the counts replace all that was told. */
MALLEABLE_FUNCTION(int, malleable_scheduler_observe,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const malleable_task_counts* counts));
MALLEABLE_FUNCTION(int, malleable_scheduler_update,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const double* weight, const double* deadline, const double* map_seconds,
                    const double* reduce_seconds, const int64_t* min_map_slots,
                    const int64_t* min_reduce_slots));
MALLEABLE_FUNCTION(int, malleable_scheduler_set_users,
                   (malleable_scheduler * scheduler, double now, int64_t count,
                    const int64_t* users, const double* minimum, const double* priority));
/* Changes the slots of nodes. 0: the node has left. */
MALLEABLE_FUNCTION(int, malleable_scheduler_set_slots,
                   (malleable_scheduler * scheduler, double now, int64_t count,
                    const int64_t* nodes, const int64_t* map_slots, const int64_t* reduce_slots));
MALLEABLE_FUNCTION(int, malleable_scheduler_finish,
                   (malleable_scheduler * scheduler, double now, int64_t count,
                    const int64_t* ids));
/* Cancels jobs, with all jobs that wait for them. */
MALLEABLE_FUNCTION(int, malleable_scheduler_remove,
                   (malleable_scheduler * scheduler, double now, int64_t count,
                    const int64_t* ids));
/* Writes one row for each job. `given` (how many slots the job should have) and `bound` have two
 * entries for each row: one for map or generic slots, then one for reduce slots. The job with the
 * least `key` gets the next slot. */
MALLEABLE_FUNCTION(int, malleable_scheduler_decide,
                   (malleable_scheduler * scheduler, double now, int64_t* ids, int64_t* given,
                    uint8_t* changed, uint8_t* bound, double* key, int64_t room, int64_t* rows));
/* Chooses tasks for the free slots of each node. The tasks count as started. `*starts` becomes
 * their number. */
MALLEABLE_FUNCTION(int, malleable_scheduler_assign,
                   (malleable_scheduler * scheduler, double now, const int64_t* free_map_slots,
                    const int64_t* free_reduce_slots, int64_t* starts));
/* The tasks that malleable_scheduler_assign chose last. `task` is -1 if you may start any task of
 * the phase. `room` must be at least `*starts`. */
MALLEABLE_FUNCTION(int, malleable_scheduler_starts,
                   (malleable_scheduler * scheduler, int64_t* ids, int64_t* phase, int64_t* task,
                    int64_t* node, int64_t room, int64_t* rows));
/* With the option take_back=true, before an assignment: `*tasks` reduce tasks, which wait for maps,
 * are to be ended, as others need their slots. They count as waiting again. */
MALLEABLE_FUNCTION(int, malleable_scheduler_take_back,
                   (malleable_scheduler * scheduler, double now, const int64_t* free_map_slots,
                    const int64_t* free_reduce_slots, int64_t* tasks));
/* Jobs of these, one row a task: end the reduce task of the job that started last. */
MALLEABLE_FUNCTION(int, malleable_scheduler_taken,
                   (malleable_scheduler * scheduler, int64_t* ids, int64_t room, int64_t* rows));
/* Of running tasks, one a row, which have run for so many seconds (a reduce task: since all maps
 * had ended): the seconds by which a task will probably end earlier with a second attempt, over
 * those that the second attempt will probably run; 0: it is to have none. Start one in a slot that
 * no ready task wants if the gain is above 0.22. */
MALLEABLE_FUNCTION(int, malleable_scheduler_backup_gains,
                   (malleable_scheduler * scheduler, int64_t count, const int64_t* ids,
                    const int64_t* phase, const double* seconds, double* gain));
/* What the scheduler knows of jobs: tasks that wait, run and have ended well, and the expected
 * seconds of a task. Each column has two entries for each row: one for map, then one for reduce. */
MALLEABLE_FUNCTION(int, malleable_scheduler_counts,
                   (malleable_scheduler * scheduler, int64_t count, const int64_t* ids,
                    int64_t* waiting, int64_t* running, int64_t* finished, double* estimate));
/* What the scheduler has learnt, so that you can give it to another scheduler
 * (malleable_scheduler_recall). Call this twice. In the first call leave common, maps and reduces
 * null: the function says how many numbers and how many programs there are. In the second call,
 * `common` has room for all numbers (room), and `maps` and `reduces` each have room for three
 * numbers for each program (programs_room: the programs). Programs and users keep the numbers with
 * which you added them. */
MALLEABLE_FUNCTION(int, malleable_scheduler_history,
                   (malleable_scheduler * scheduler, double* common, int64_t room, int64_t* numbers,
                    double* maps, double* reduces, int64_t programs_room, int64_t* programs));
/* Gives the scheduler what another scheduler has learnt. Call this before you add the first job. */
MALLEABLE_FUNCTION(int, malleable_scheduler_recall,
                   (malleable_scheduler * scheduler, int64_t numbers, const double* common,
                    int64_t programs, const double* maps, const double* reduces));
/* When you should ask again even if nothing happens. Infinity: at no time. */
MALLEABLE_FUNCTION(int, malleable_scheduler_next, (malleable_scheduler * scheduler, double* time));
MALLEABLE_FUNCTION(int, malleable_scheduler_size, (malleable_scheduler * scheduler, int64_t* jobs));

/* ---- Plans ---- */

/* Plans a table of jobs, all of which must have arrived by `now`. effort: -1 for the default.
 * budget: how many seconds the search may take; infinity: any time. penalty: for jobs of kind
 * custom, otherwise null. */
MALLEABLE_FUNCTION(int, malleable_plan_jobs,
                   (const malleable_jobs* jobs, int64_t slots, const char* objective,
                    const char* policy, const char* min_mode, int64_t effort, double budget,
                    double now, malleable_penalty penalty, malleable_plan** made));
MALLEABLE_FUNCTION(int, malleable_plan_flows,
                   (const malleable_flows* flows, int64_t slots, const char* objective,
                    const char* policy, int64_t effort, double budget, double now,
                    malleable_penalty penalty, malleable_plan** made));
MALLEABLE_FUNCTION(void, malleable_plan_free, (malleable_plan * plan));
/* `*status` becomes a malleable_plan_status. */
MALLEABLE_FUNCTION(int, malleable_plan_value,
                   (malleable_plan * plan, int64_t* status, double* value, double* lower_bound));
MALLEABLE_FUNCTION(int, malleable_plan_size,
                   (malleable_plan * plan, int64_t* jobs, int64_t* flows, int64_t* pieces));
/* One row for each job, as in the table. `penalty` is for plans of jobs; in a plan of flows, flows
 * have the penalties. */
MALLEABLE_FUNCTION(int, malleable_plan_job_columns,
                   (malleable_plan * plan, int64_t* allocation, double* start, double* completion,
                    double* penalty, int64_t room));
/* One row for each flow. `ids` are for the plan of an epoch. `first_job` is the row of the first
 * job of the flow. */
MALLEABLE_FUNCTION(int, malleable_plan_flow_columns,
                   (malleable_plan * plan, int64_t* ids, int64_t* first_job, double* completion,
                    double* penalty, int64_t room));
/* The rows of the jobs (in a plan of flows: of the flows), the most urgent first. */
MALLEABLE_FUNCTION(int, malleable_plan_order,
                   (malleable_plan * plan, int64_t* order, int64_t room, int64_t* rows));
MALLEABLE_FUNCTION(int, malleable_plan_pieces,
                   (malleable_plan * plan, int64_t* job, double* start, double* end, int64_t* slots,
                    int64_t room));

/* ---- Checks: whether a schedule keeps its promises ---- */

/* Checks that all work is done, within the maxima, minima, gangs and capacity, and that completions
 * are right. The check shares no code with the solvers. MALLEABLE_INVALID: the message says what is
 * violated. ignore_minima: 1 for a schedule of a policy that ignores minima, otherwise 0. */
MALLEABLE_FUNCTION(int, malleable_check_jobs,
                   (const malleable_jobs* jobs, int64_t slots, double now, const char* min_mode,
                    int64_t ignore_minima, const malleable_pieces* pieces,
                    const double* completion));
/* The same for flows, and that jobs wait for their parents. `completion` has one entry for each
 * job. */
MALLEABLE_FUNCTION(int, malleable_check_flows,
                   (const malleable_flows* flows, int64_t slots, double now,
                    const malleable_pieces* pieces, const double* completion));

/* ---- The table of all functions, for programs that cannot link the library ---- */

/* clang-format changes this list each time it runs. */
/* clang-format off */
#define MALLEABLE_FUNCTIONS(X)                                                                     \
  X(version) X(message) X(bound_text) X(epoch_new) X(epoch_free) X(epoch_set_penalty)              \
  X(epoch_add) X(epoch_update) X(epoch_finish) X(epoch_remove) X(epoch_decide) X(epoch_assess)     \
  X(epoch_plan) X(epoch_size) X(flow_epoch_new) X(flow_epoch_free) X(flow_epoch_set_penalty)       \
  X(flow_epoch_set_task_work) X(flow_epoch_add) X(flow_epoch_update) X(flow_epoch_finish)          \
  X(flow_epoch_remove) X(flow_epoch_decide) X(flow_epoch_ended) X(flow_epoch_plan)                 \
  X(flow_epoch_size) X(overlap_epoch_new) X(overlap_epoch_free) X(overlap_epoch_add)               \
  X(overlap_epoch_update) X(overlap_epoch_finish) X(overlap_epoch_remove)                          \
  X(overlap_epoch_decide) X(overlap_epoch_size) X(slotted_epoch_new) X(slotted_epoch_free)         \
  X(slotted_epoch_add) X(slotted_epoch_update) X(slotted_epoch_finish) X(slotted_epoch_remove)     \
  X(slotted_epoch_decide) X(slotted_epoch_size) X(scheduler_defaults)   \
  X(scheduler_new) X(scheduler_free) X(scheduler_add) X(scheduler_set_blocks)                      \
  X(scheduler_started) X(scheduler_ended) X(scheduler_failed) X(scheduler_ready)                   \
  X(scheduler_observe) X(scheduler_update) X(scheduler_set_users) X(scheduler_set_slots)           \
  X(scheduler_finish) X(scheduler_remove) X(scheduler_decide) X(scheduler_assign)                  \
  X(scheduler_starts) X(scheduler_counts) X(scheduler_next) X(scheduler_size) X(plan_jobs)         \
  X(plan_flows) X(plan_free) X(plan_value) X(plan_size) X(plan_job_columns) X(plan_flow_columns)   \
  X(plan_order) X(plan_pieces) X(check_jobs) X(check_flows)                                      \
  X(epoch_decide_period) X(epoch_order) X(scheduler_new_with) X(scheduler_lost)                    \
  X(scheduler_history) X(scheduler_recall) X(scheduler_add_with)                                   \
  X(flow_epoch_set_period) X(flow_epoch_order) X(overlap_epoch_set_period) X(overlap_epoch_order)  \
  X(slotted_epoch_set_period) X(slotted_epoch_order) X(scheduler_ended_copying)                    \
  X(scheduler_take_back) X(scheduler_taken) X(scheduler_backup_gains) X(scheduler_new_adaptive)
/* clang-format on */
#define MALLEABLE_MEMBER(name) malleable_##name##_function* name;
typedef struct malleable_api {
  int64_t api_version; /* MALLEABLE_API_VERSION of the library, at least the caller's */
  MALLEABLE_FUNCTIONS(MALLEABLE_MEMBER)
} malleable_api;
#undef MALLEABLE_MEMBER

MALLEABLE_FUNCTION(const malleable_api*, malleable_get_api, (void));

#ifdef __cplusplus
}
#endif

#endif
