/* The C interface: epochs, the scheduler, plans and checks, for any language that calls C.
 *
 * Objects are opaque; malleable_X_new makes one, malleable_X_free ends it (null: nothing happens).
 * Every other function returns a malleable_status. One that is not MALLEABLE_OK has changed
 * nothing, unless it says so here, and malleable_message() says what is wrong.
 *
 * Columns are arrays of the caller, `count` entries each, read or written during the call alone. A
 * null pointer leaves a column out: an input column then has its default or stays as it was, an
 * output column is not written. Where a function writes rows, `room` says how many fit and `*rows`
 * becomes how many there are; `room` must be at least the size of the object (malleable_X_size).
 *
 * Times are seconds, work is in slot-seconds, ids are never used twice, `now` never falls. -1 as
 * the slots of a decision: as many as before. What columns mean and which numbers they may have is
 * what the Python classes of the same names say.
 *
 * Threads: objects in different threads share nothing. Two threads in one object: one of them gets
 * MALLEABLE_BUSY. Functions take no lock; no exception leaves them. Decisions, updates and the end
 * of jobs allocate nothing once the object has grown; additions do where tables grow,
 * and the first task of a phase where task times are learnt.
 *
 * Fork: objects are memory and nothing else, so a child has copies of its own.
 *
 * The interface grows at its ends alone: functions are added behind those in malleable_api, and
 * structures never change. All members of structures take eight bytes.
 */
#ifndef MALLEABLE_MALLEABLE_H
#define MALLEABLE_MALLEABLE_H

#include <stdint.h>

/* All else in the library is hidden. */
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

/* Grows with every function that is added. */
#define MALLEABLE_API_VERSION 6

/* max_slots of a job that may use every slot. */
#define MALLEABLE_ALL_SLOTS (INT64_C(1) << 62)

typedef enum malleable_status {
  MALLEABLE_OK = 0,
  MALLEABLE_INVALID = 1,   /* wrong input: the message names field, row and value */
  MALLEABLE_BUSY = 2,      /* another thread is in the object */
  MALLEABLE_NO_MEMORY = 3, /* the object may have to be freed */
  MALLEABLE_FAILED = 4     /* anything else */
} malleable_status;

/* Kinds of penalties: the words behind sum: and max:. */
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
typedef struct malleable_adaptive_epoch malleable_adaptive_epoch;
typedef struct malleable_scheduler malleable_scheduler;
typedef struct malleable_plan malleable_plan;

/* Penalty of a job (id, or row of a plan) or flow at an absolute completion time: non-decreasing,
 * never NaN; infinite from some time on: a strict deadline. Called in the thread that asks. */
typedef double (*malleable_penalty)(int64_t job, double completion);

/* Shares [classes x nodes, row by row] that solve the linear programs of the adaptive scheduler,
 * from arrival rates of classes, execution rates [classes x nodes] and numbers of nodes. 0: solved.
 */
typedef int (*malleable_matcher)(void* context, int64_t classes, int64_t nodes,
                                 const double* arrival_rates, const double* execution_rates,
                                 const double* numbers, double* shares);

/* ---- Tables ---- */

/* Jobs. Needed: work. SLA steps of row j: sla_offset[j] .. sla_offset[j + 1]. */
typedef struct malleable_jobs {
  int64_t count;
  const double* work;
  const double* arrival;    /* 0 */
  const int64_t* min_slots; /* 0 */
  const int64_t* max_slots; /* all */
  const double* weight;     /* 1 */
  const double* deadline;   /* infinity: none */
  const double* size;       /* work when it came: the work */
  const uint8_t* kind;      /* malleable_kind: the objective's */
  const int64_t* sla_offset;
  const double* sla_time;
  const double* sla_penalty;
  const double* speedup; /* p: s slots do s^p; 1 */
  /* Job j: what 1, 2, ... slots do is rate[rate_offset[j] .. rate_offset[j + 1]], if there are any.
   */
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

/* Flows. Needed: job_offset, work. Flow f has the jobs job_offset[f] .. job_offset[f + 1], job i
 * waits for the jobs parent[parent_offset[i] .. parent_offset[i + 1]] of its flow. */
typedef struct malleable_flows {
  int64_t flows;
  const int64_t* job_offset;
  const double* work;           /* of jobs */
  const int64_t* max_slots;     /* of jobs: all */
  const int64_t* parent_offset; /* nobody waits */
  const int64_t* parent;
  const double* arrival;  /* of flows: 0 */
  const double* weight;   /* 1 */
  const double* deadline; /* infinity: none */
  const double* size;     /* all of its work */
  const uint8_t* kind;    /* the objective's */
  const int64_t* sla_offset;
  const double* sla_time;
  const double* sla_penalty;
  const int64_t* tasks;     /* of jobs whose work is not known; epochs only: 0 */
  const int64_t* continues; /* of jobs: row of the first phase, or -1; epochs only: -1 */
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

/* Jobs with a map and a shuffle phase, in seconds of the whole station. Needed to add: map,
 * shuffle. */
typedef struct malleable_overlap_jobs {
  const double* arrival; /* 0 */
  const double* map;
  const double* shuffle;
  const double* ready;             /* of the shuffle: by the map phase's progress */
  const double* max_map_slots;     /* infinity */
  const double* max_shuffle_slots; /* infinity */
} malleable_overlap_jobs;

/* Jobs of map and reduce tasks on alike machines. Needed to add: maps, reduce_left. */
typedef struct malleable_slotted_jobs {
  const double* arrival; /* 0 */
  const int64_t* maps;
  const int64_t* reduces; /* 0 */
  const int64_t* running; /* 0 */
  const double* map_left; /* machine seconds: a slot for each task */
  const double* reduce_left;
} malleable_slotted_jobs;

/* Nodes and users. With generic slots those of a node are its map_slots. Needed: map_slots. */
typedef struct malleable_cluster {
  int64_t nodes;
  int64_t generic;
  const int64_t* map_slots;
  const int64_t* reduce_slots; /* 0 */
  const double* rate;          /* 1 */
  const int64_t* type;         /* 0 */
  const int64_t* rack;         /* 0 */
  const double* storage;       /* bytes a second: infinity */
  const double* link;          /* bytes a second: infinity */
  int64_t users;
  const double* user_minimum;  /* 0 */
  const double* user_priority; /* 1 */
} malleable_cluster;

/* Jobs of map and reduce tasks on a cluster. Needed: maps. Users and (adaptive) classes have
 * numbers from 0; new ones, which follow those that there are, come with these jobs. */
typedef struct malleable_cluster_jobs {
  int64_t count;
  const double* arrival; /* now */
  const int64_t* maps;
  const int64_t* reduces;       /* 0 */
  const double* map_seconds;    /* of a task on a node of rate 1: 0 */
  const double* reduce_seconds; /* 0 */
  const int64_t* min_map_slots; /* scheduler: 0 */
  const int64_t* min_reduce_slots;
  const double* weight;        /* scheduler: 1 */
  const double* deadline;      /* scheduler: infinity */
  const int64_t* user;         /* 0 */
  const int64_t* program;      /* scheduler: number of the program, -1: none; adaptive: class, 0 */
  const int64_t* flow;         /* scheduler: jobs of one number; each its own */
  const int64_t* after_offset; /* scheduler: job k waits for after[after_offset[k] ..] of these */
  const int64_t* after;
  const double* block; /* adaptive: bytes that each map reads, 0 */
  int64_t new_users;
  const double* new_user_minimum;  /* 0 */
  const double* new_user_priority; /* 1 */
  int64_t new_classes;             /* adaptive */
} malleable_cluster_jobs;

/* A column by its name: one of the two, `count` entries of the table that it belongs to. */
typedef struct malleable_column {
  const char* name;
  const double* real;
  const int64_t* whole;
} malleable_column;

typedef struct malleable_adaptive_options {
  double by_slots;  /* 1: rates are slots over time; 0, as printed: 1 over time */
  double fallback;  /* 1 or 0 */
  double guard;     /* 0: off */
  double threshold; /* solve again when a rate moved by this share */
  double memory;    /* seconds */
  double max_wait;  /* seconds */
  double patience;  /* seconds */
} malleable_adaptive_options;

/* What malleable_scheduler_new takes; malleable_scheduler_new_with takes every option, by its name.
 * -1 as effort: none; as by_user: where the cluster names users. speedup: p of s^p. */
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

/* Tasks that wait, run, have ended well, and failed for good. Left out: 0. */
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

/* Pieces of a schedule: job[k] holds slots[k] slots from start[k] to end[k]. */
typedef struct malleable_pieces {
  int64_t count;
  const int64_t* job;
  const double* start;
  const double* end;
  const int64_t* slots;
} malleable_pieces;

/* Each function also has a type, NAME_function, for the table at the end. */
#define MALLEABLE_FUNCTION(result, name, arguments) \
  typedef result name##_function arguments;         \
  MALLEABLE_EXPORT name##_function name

/* Of the package; what went wrong in this thread's last call that failed, valid until the next. */
MALLEABLE_FUNCTION(const char*, malleable_version, (void));
MALLEABLE_FUNCTION(const char*, malleable_message, (void));
/* What the number of a bound means. */
MALLEABLE_FUNCTION(const char*, malleable_bound_text, (int64_t bound));

/* ---- Epoch: malleable jobs ---- */

/* objective: sum:KIND or max:KIND; policy: flex, fair, fifo, wdeq; min_mode: guarantee, gang;
 * effort: candidates of FLEX behind its fixed orders, -1: its own order alone. */
MALLEABLE_FUNCTION(int, malleable_epoch_new,
                   (int64_t slots, const char* objective, const char* policy, const char* min_mode,
                    double hysteresis, int64_t effort, malleable_epoch** made));
MALLEABLE_FUNCTION(void, malleable_epoch_free, (malleable_epoch * epoch));
/* What jobs of kind custom pay; before the first of them is added. */
MALLEABLE_FUNCTION(int, malleable_epoch_set_penalty,
                   (malleable_epoch * epoch, malleable_penalty penalty));
/* O(jobs added); ids: of the new jobs. */
MALLEABLE_FUNCTION(int, malleable_epoch_add,
                   (malleable_epoch * epoch, const malleable_jobs* jobs, int64_t* ids));
/* work: what remains. */
MALLEABLE_FUNCTION(int, malleable_epoch_update,
                   (malleable_epoch * epoch, int64_t count, const int64_t* ids,
                    const malleable_job_changes* changes));
/* These have ended. */
MALLEABLE_FUNCTION(int, malleable_epoch_finish,
                   (malleable_epoch * epoch, int64_t count, const int64_t* ids));
/* These will not end. */
MALLEABLE_FUNCTION(int, malleable_epoch_remove,
                   (malleable_epoch * epoch, int64_t count, const int64_t* ids));
/* All jobs, their slots now, and whether they are others than before. */
MALLEABLE_FUNCTION(int, malleable_epoch_decide,
                   (malleable_epoch * epoch, double now, int64_t slots, int64_t* ids,
                    int64_t* given, uint8_t* changed, int64_t room, int64_t* rows));
/* Of the last decision, before anything else changes. */
MALLEABLE_FUNCTION(int, malleable_epoch_assess,
                   (malleable_epoch * epoch, double* value, double* lower_bound));
/* The same in full; rows as decided. */
MALLEABLE_FUNCTION(int, malleable_epoch_plan, (malleable_epoch * epoch, malleable_plan** made));
MALLEABLE_FUNCTION(int, malleable_epoch_size, (malleable_epoch * epoch, int64_t* jobs));
/* As malleable_epoch_decide, for slots that are held for `period` seconds (0: until something
 * ends). overloaded: 1 if the jobs that keep coming need more whole slot-periods than there are. */
MALLEABLE_FUNCTION(int, malleable_epoch_decide_period,
                   (malleable_epoch * epoch, double now, int64_t slots, double period, int64_t* ids,
                    int64_t* given, uint8_t* changed, int64_t room, int64_t* rows,
                    int64_t* overloaded));
/* Of the last decision, before anything else changes: who gets slots that become free before the
 * next one. Room: the size of the epoch. */
MALLEABLE_FUNCTION(int, malleable_epoch_order,
                   (malleable_epoch * epoch, int64_t* ids, int64_t room, int64_t* rows));

/* ---- FlowEpoch: DAGs of malleable jobs ---- */

/* policy: flowflex, flowflex-fast, flowflex-literal, fair, fifo. */
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
/* Jobs by ids, flows by flow_ids. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_update,
                   (malleable_flow_epoch * epoch, int64_t count, const int64_t* ids, int64_t flows,
                    const int64_t* flow_ids, const malleable_flow_changes* changes));
/* What waited for these jobs may run. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_finish,
                   (malleable_flow_epoch * epoch, int64_t count, const int64_t* ids));
/* Jobs with all that wait for them, and whole flows. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_remove,
                   (malleable_flow_epoch * epoch, int64_t count, const int64_t* ids, int64_t flows,
                    const int64_t* flow_ids));
/* All jobs that have not ended. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_decide,
                   (malleable_flow_epoch * epoch, double now, int64_t slots, int64_t* ids,
                    int64_t* given, uint8_t* changed, uint8_t* ready, int64_t room, int64_t* rows));
/* Flows of which the last decision found nothing left. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_ended,
                   (malleable_flow_epoch * epoch, int64_t* flow_ids, int64_t room, int64_t* rows));
/* Decisions from now on are held for so many seconds; 0: until something ends. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_set_period,
                   (malleable_flow_epoch * epoch, double period));
/* Of the last decision, before anything else changes: who gets slots that become free before the
 * next one. overloaded: as of malleable_epoch_decide_period. Room: the jobs that have not ended. */
MALLEABLE_FUNCTION(int, malleable_flow_epoch_order,
                   (malleable_flow_epoch * epoch, int64_t* ids, int64_t room, int64_t* rows,
                    int64_t* overloaded));
MALLEABLE_FUNCTION(int, malleable_flow_epoch_plan,
                   (malleable_flow_epoch * epoch, malleable_plan** made));
MALLEABLE_FUNCTION(int, malleable_flow_epoch_size,
                   (malleable_flow_epoch * epoch, int64_t* jobs, int64_t* flows));

/* ---- OverlapEpoch: map and shuffle phases that overlap ---- */

/* policy: max-srpt, split-srpt, two-srpt, fcfs. */
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
/* Who runs, and who did until now. given, share, bound: two entries a row, map and shuffle. */
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_decide,
                   (malleable_overlap_epoch * epoch, double now, int64_t map_slots,
                    int64_t shuffle_slots, int64_t* ids, int64_t* given, uint8_t* changed,
                    double* share, uint8_t* bound, int64_t room, int64_t* rows));
/* As of flows; map: whether the order is that of the map station. Room: the size of the epoch. */
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_set_period,
                   (malleable_overlap_epoch * epoch, double period));
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_order,
                   (malleable_overlap_epoch * epoch, int64_t map, int64_t* ids, int64_t room,
                    int64_t* rows, int64_t* overloaded));
MALLEABLE_FUNCTION(int, malleable_overlap_epoch_size,
                   (malleable_overlap_epoch * epoch, int64_t* jobs));

/* ---- SlottedEpoch: map and reduce tasks on machines, slot by slot ---- */

/* policy: asrpt, unlock, srpt, lrpt, fifo, fair. */
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
/* given: machines held; maps, reduces: tasks that start. */
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_decide,
                   (malleable_slotted_epoch * epoch, double now, int64_t slots, int64_t* ids,
                    int64_t* given, uint8_t* changed, int64_t* maps, int64_t* reduces,
                    uint8_t* bound, int64_t room, int64_t* rows));
/* As of flows. Room: the size of the epoch. */
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_set_period,
                   (malleable_slotted_epoch * epoch, double period));
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_order,
                   (malleable_slotted_epoch * epoch, int64_t* ids, int64_t room, int64_t* rows,
                    int64_t* overloaded));
MALLEABLE_FUNCTION(int, malleable_slotted_epoch_size,
                   (malleable_slotted_epoch * epoch, int64_t* jobs));

/* ---- AdaptiveEpoch: which task each free slot of unlike nodes starts ---- */

/* Nodes that are alike are matched together. options: null for the defaults. The matcher is called
 * with `context` wherever rates moved; should it fail, the call says so, and what was told stays.
 */
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_new,
                   (const malleable_cluster* cluster, const malleable_adaptive_options* options,
                    malleable_matcher matcher, void* context, malleable_adaptive_epoch** made));
MALLEABLE_FUNCTION(void, malleable_adaptive_epoch_free, (malleable_adaptive_epoch * epoch));
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_add,
                   (malleable_adaptive_epoch * epoch, const malleable_cluster_jobs* jobs,
                    int64_t* ids));
/* nodes: map by map, `copies` each, before any of them started. */
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_set_blocks,
                   (malleable_adaptive_epoch * epoch, int64_t id, int64_t maps, int64_t copies,
                    const int64_t* nodes));
/* Tasks that may start now, seconds of a task. */
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_update,
                   (malleable_adaptive_epoch * epoch, int64_t count, const int64_t* ids,
                    const int64_t* maps, const int64_t* reduces, const double* map_seconds,
                    const double* reduce_seconds));
/* Tasks that ended. Left out: task (-1), end (the latest time heard of), done (1). */
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_ended,
                   (malleable_adaptive_epoch * epoch, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* node, const double* seconds,
                    const int64_t* task, const double* end, const uint8_t* done));
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_finish,
                   (malleable_adaptive_epoch * epoch, int64_t count, const int64_t* ids));
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_remove,
                   (malleable_adaptive_epoch * epoch, int64_t count, const int64_t* ids));
/* Free slots by node; given, bound: two entries a row, map and reduce. `*starts`: tasks to start.
 */
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_decide,
                   (malleable_adaptive_epoch * epoch, double now, const int64_t* free_map_slots,
                    const int64_t* free_reduce_slots, int64_t* ids, int64_t* given,
                    uint8_t* changed, uint8_t* bound, int64_t room, int64_t* rows,
                    int64_t* starts));
/* Those of the last decision. task: -1 where tasks have no place. */
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_starts,
                   (malleable_adaptive_epoch * epoch, int64_t* ids, int64_t* phase, int64_t* task,
                    int64_t* node, int64_t room, int64_t* rows));
MALLEABLE_FUNCTION(int, malleable_adaptive_epoch_size,
                   (malleable_adaptive_epoch * epoch, int64_t* jobs));

/* ---- Scheduler: told what happens, it says who should have what, and which tasks start where ----
 */

/* Sets the defaults: those of the core's table of options. */
MALLEABLE_FUNCTION(int, malleable_scheduler_defaults, (malleable_scheduler_options * options));
/* policy: auto, flex, fair, fifo, wdeq, srpt, max-srpt, split-srpt, asrpt, hesrpt, las, gittins,
 * psbs, flowflex, flowflex-fast; options: null for the defaults. */
MALLEABLE_FUNCTION(int, malleable_scheduler_new,
                   (const malleable_cluster* cluster, const char* policy, const char* objective,
                    const malleable_scheduler_options* options, malleable_scheduler** made));
/* The same with options as "name=value" between spaces, as `malleable simulate --options` and
 * docs/options.md list them for the scheduler ("prior=2 assignment=deficit speedup=1;1.9;2.7");
 * null: the defaults. */
MALLEABLE_FUNCTION(int, malleable_scheduler_new_with,
                   (const malleable_cluster* cluster, const char* policy, const char* objective,
                    const char* options, malleable_scheduler** made));
MALLEABLE_FUNCTION(void, malleable_scheduler_free, (malleable_scheduler * scheduler));
MALLEABLE_FUNCTION(int, malleable_scheduler_add,
                   (malleable_scheduler * scheduler, double now, const malleable_cluster_jobs* jobs,
                    int64_t* ids));
/* The same, and columns that the structure does not have: max_slots (whole), speedup (p, real). */
MALLEABLE_FUNCTION(int, malleable_scheduler_add_with,
                   (malleable_scheduler * scheduler, double now, const malleable_cluster_jobs* jobs,
                    int64_t columns, const malleable_column* more, int64_t* ids));
MALLEABLE_FUNCTION(int, malleable_scheduler_set_blocks,
                   (malleable_scheduler * scheduler, int64_t id, int64_t maps, int64_t copies,
                    const int64_t* nodes));
/* Tasks, one a row or tasks[k] of them (null: one). `*ignored`: that could not be placed. */
MALLEABLE_FUNCTION(int, malleable_scheduler_started,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, int64_t* ignored));
/* node -1, seconds NaN: unknown, as is all of a column that is left out. */
MALLEABLE_FUNCTION(int, malleable_scheduler_ended,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, const int64_t* node,
                    const double* seconds, int64_t* ignored));
/* The same; copying: the part of a reduce task's seconds in which it copies if all maps have ended
 * before; NaN: unknown. */
MALLEABLE_FUNCTION(int, malleable_scheduler_ended_copying,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, const int64_t* node,
                    const double* seconds, const double* copying, int64_t* ignored));
/* They wait again; task: as started, for tasks with blocks, or -1. */
MALLEABLE_FUNCTION(int, malleable_scheduler_failed,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, const int64_t* task,
                    int64_t* ignored));
/* Maps that had finished and will run again, as what they left is gone; as those that failed. */
MALLEABLE_FUNCTION(int, malleable_scheduler_lost,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase, const int64_t* tasks, const int64_t* task,
                    int64_t* ignored));
/* Tasks of a phase may start, whatever slow start says. */
MALLEABLE_FUNCTION(int, malleable_scheduler_ready,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const int64_t* phase));
/* Counts as they are. */
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
/* Slots of nodes from now on. */
MALLEABLE_FUNCTION(int, malleable_scheduler_set_slots,
                   (malleable_scheduler * scheduler, double now, int64_t count,
                    const int64_t* nodes, const int64_t* map_slots, const int64_t* reduce_slots));
MALLEABLE_FUNCTION(int, malleable_scheduler_finish,
                   (malleable_scheduler * scheduler, double now, int64_t count,
                    const int64_t* ids));
/* With all that wait for them. */
MALLEABLE_FUNCTION(int, malleable_scheduler_remove,
                   (malleable_scheduler * scheduler, double now, int64_t count,
                    const int64_t* ids));
/* given, bound: two entries a row, map (or generic) and reduce; key: the least gets the next slot.
 */
MALLEABLE_FUNCTION(int, malleable_scheduler_decide,
                   (malleable_scheduler * scheduler, double now, int64_t* ids, int64_t* given,
                    uint8_t* changed, uint8_t* bound, double* key, int64_t room, int64_t* rows));
/* Tasks for free slots by node, which count as started. `*starts`: how many. */
MALLEABLE_FUNCTION(int, malleable_scheduler_assign,
                   (malleable_scheduler * scheduler, double now, const int64_t* free_map_slots,
                    const int64_t* free_reduce_slots, int64_t* starts));
/* Those of the last assignment. task: -1 where any will do. */
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
 * had ended): the seconds that a task will probably run on, over those that a second attempt takes;
 * 0: it is to have none. Start one in a slot that no ready task wants if the gain is above 1 / 2.
 */
MALLEABLE_FUNCTION(int, malleable_scheduler_backup_gains,
                   (malleable_scheduler * scheduler, int64_t count, const int64_t* ids,
                    const int64_t* phase, const double* seconds, double* gain));
/* Tasks and seconds of a task as believed, two entries a row, map and reduce. */
MALLEABLE_FUNCTION(int, malleable_scheduler_counts,
                   (malleable_scheduler * scheduler, int64_t count, const int64_t* ids,
                    int64_t* waiting, int64_t* running, int64_t* finished, double* estimate));
/* What was learnt, for a scheduler to come: `*numbers` in common, which grow with programs and
 * users, and by program three in `maps` and three in `reduces`, `*programs` of each. Programs and
 * users are those of the numbers that they were added with. room, programs_room: numbers and
 * programs that fit; with null columns the function says how many there are. */
MALLEABLE_FUNCTION(int, malleable_scheduler_history,
                   (malleable_scheduler * scheduler, double* common, int64_t room, int64_t* numbers,
                    double* maps, double* reduces, int64_t programs_room, int64_t* programs));
/* Before any job came: what another scheduler had learnt, in place of what this one has. */
MALLEABLE_FUNCTION(int, malleable_scheduler_recall,
                   (malleable_scheduler * scheduler, int64_t numbers, const double* common,
                    int64_t programs, const double* maps, const double* reduces));
/* When to ask again though nothing happens; infinity: then only. */
MALLEABLE_FUNCTION(int, malleable_scheduler_next, (malleable_scheduler * scheduler, double* time));
MALLEABLE_FUNCTION(int, malleable_scheduler_size, (malleable_scheduler * scheduler, int64_t* jobs));

/* ---- Plans ---- */

/* All jobs have arrived by `now`. effort: -1 for the default; budget: seconds, infinity for none;
 * penalty: for kind custom, told rows; null: none. */
MALLEABLE_FUNCTION(int, malleable_plan_jobs,
                   (const malleable_jobs* jobs, int64_t slots, const char* objective,
                    const char* policy, const char* min_mode, int64_t effort, double budget,
                    double now, malleable_penalty penalty, malleable_plan** made));
MALLEABLE_FUNCTION(int, malleable_plan_flows,
                   (const malleable_flows* flows, int64_t slots, const char* objective,
                    const char* policy, int64_t effort, double budget, double now,
                    malleable_penalty penalty, malleable_plan** made));
MALLEABLE_FUNCTION(void, malleable_plan_free, (malleable_plan * plan));
/* status: malleable_plan_status. */
MALLEABLE_FUNCTION(int, malleable_plan_value,
                   (malleable_plan * plan, int64_t* status, double* value, double* lower_bound));
MALLEABLE_FUNCTION(int, malleable_plan_size,
                   (malleable_plan * plan, int64_t* jobs, int64_t* flows, int64_t* pieces));
/* By row; penalty: of jobs that stand alone, without flows. */
MALLEABLE_FUNCTION(int, malleable_plan_job_columns,
                   (malleable_plan * plan, int64_t* allocation, double* start, double* completion,
                    double* penalty, int64_t room));
/* By row. ids: of an epoch's flows; first_job: row of its first job. */
MALLEABLE_FUNCTION(int, malleable_plan_flow_columns,
                   (malleable_plan * plan, int64_t* ids, int64_t* first_job, double* completion,
                    double* penalty, int64_t room));
/* Rows of jobs, or of flows where there are any, by priority. */
MALLEABLE_FUNCTION(int, malleable_plan_order,
                   (malleable_plan * plan, int64_t* order, int64_t room, int64_t* rows));
MALLEABLE_FUNCTION(int, malleable_plan_pieces,
                   (malleable_plan * plan, int64_t* job, double* start, double* end, int64_t* slots,
                    int64_t room));

/* ---- Checks: a schedule against what was promised; shares no code with solvers ---- */

/* Work, maxima, minima, gangs, capacity, completions. MALLEABLE_INVALID names what is violated.
 * ignore_minima: of policies that know none. */
MALLEABLE_FUNCTION(int, malleable_check_jobs,
                   (const malleable_jobs* jobs, int64_t slots, double now, const char* min_mode,
                    int64_t ignore_minima, const malleable_pieces* pieces,
                    const double* completion));
/* The same for flows, and precedence; completions of jobs. */
MALLEABLE_FUNCTION(int, malleable_check_flows,
                   (const malleable_flows* flows, int64_t slots, double now,
                    const malleable_pieces* pieces, const double* completion));

/* ---- The table, for whoever cannot link: its functions in the order in which they came ---- */

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
  X(slotted_epoch_decide) X(slotted_epoch_size) X(adaptive_epoch_new) X(adaptive_epoch_free)       \
  X(adaptive_epoch_add) X(adaptive_epoch_set_blocks) X(adaptive_epoch_update)                      \
  X(adaptive_epoch_ended) X(adaptive_epoch_finish) X(adaptive_epoch_remove)                        \
  X(adaptive_epoch_decide) X(adaptive_epoch_starts) X(adaptive_epoch_size) X(scheduler_defaults)   \
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
  X(slotted_epoch_set_period) X(slotted_epoch_order)                                               \
  X(scheduler_ended_copying) X(scheduler_take_back) X(scheduler_taken) X(scheduler_backup_gains)
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
