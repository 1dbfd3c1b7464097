/* The C interface: epochs and the scheduler, for any language that can call C.
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
 * Models. There are four kinds of epochs, one for each model of jobs: of jobs (Epoch in Python), of
 * flows (FlowEpoch), tandem (TandemEpoch) and slotted (SlottedEpoch). All have the same functions,
 * structures and handles. If a column or an option belongs to some models only, its comment names
 * them, and the other models do not read it.
 *
 * Room. If a function writes rows, `room` says for how many rows your arrays have room. `room` must
 * be at least the number of jobs (malleable_X_size), unless a comment says otherwise.
 *
 * Structures that begin with `bytes` may get more members in later versions. Set `bytes` to the
 * size of the structure (sizeof), and set all other members to zero, before you set those that you
 * need. A member that is zero, or that your version does not have, has its default: the comment
 * behind the member begins with it.
 *
 * Units. Times are in seconds, work is in slot-seconds. Ids are never used twice. `now` may never
 * be less than in an earlier call. `period` says for how many seconds your loop holds the decision;
 * 0: until a job ends. The Python classes of the same names say what each column means
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
 * Versions. New functions are added at the end of malleable_api. Structures without `bytes` do not
 * change. Each member of a structure takes eight bytes.
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

/* This number grows whenever functions are added. */
#define MALLEABLE_API_VERSION 1

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

typedef struct malleable_epoch malleable_epoch;
typedef struct malleable_scheduler malleable_scheduler;

/* A penalty of your own: what it costs that a job or flow ends at the absolute time `completion`.
 * `job` is the id of the job or flow. The penalty must not fall as time goes on, and must not be
 * NaN. If it is infinite from some time on, this time is a strict deadline. The function is called
 * in the thread that calls the library. */
typedef double (*malleable_penalty)(int64_t job, double completion);

/* Shares [classes x nodes, row by row] that solve the linear programs of the adaptive scheduler,
 * from arrival rates of classes, execution rates [classes x nodes] and numbers of nodes. 0: solved.
 */
typedef int (*malleable_matcher)(void* context, int64_t classes, int64_t nodes,
                                 const double* arrival_rates, const double* execution_rates,
                                 const double* numbers, double* shares);

/* ---- Tables ---- */

/* Jobs of an epoch that you add or change, one a row. Which columns there are depends on the model;
 * a column of `flows` flows has one entry for each flow. If you may leave a column out when you add
 * jobs, its comment begins with the value that it then has. The columns that can be changed are
 * marked with a star (*); jobs and flows keep what you leave out. */
typedef struct malleable_jobs {
  int64_t bytes;
  int64_t count;
  /* Epochs of jobs, and of flows if the comment says so. */
  const double* work;       /* needed; of flows, too; * the work that is left */
  const int64_t* min_slots; /* 0; * */
  const int64_t* max_slots; /* all slots; of flows, too; * */
  /* The time of the last decision when the rows are added, or that of the first one; all models; of
   * flows: one for each flow. */
  const double* arrival;
  const double* weight;   /* 1; of flows: one for each flow; * */
  const double* deadline; /* infinity, that is, no deadline; of flows: one for each flow; * */
  const double* size;     /* the work; it is the work that the job or the flow had when it came */
  /* * SLA steps. The steps of row j, a job or a flow, have the places from sla_offset[j] to before
   * sla_offset[j + 1] in sla_time and sla_penalty. */
  const int64_t* sla_offset;
  const double* sla_time;
  const double* sla_penalty;
  const double* speedup; /* 1; it is p if s slots are s^p times as fast as one; of jobs of flows,
                          * too; * */
  /* Instead of p, row j may have rates: how many times as fast as one slot 1, 2, ... slots are.
   * They have the places from rate_offset[j] to before rate_offset[j + 1] in `rate`. */
  const int64_t* rate_offset;
  const double* rate;
  const int64_t* min_mode;  /* that of the options; 0: guarantee, 2: start; see `min_mode` there */
  const int64_t* preferred; /* 0, that is, none; at how many slots a job with a start condition
                             * would like to start */
  /* * What a change of its slots costs a job: it holds the new slots, and does nothing for so many
   * seconds. Of restart_grow and restart_shrink, for more and for fewer slots, NULL means restart;
   * restart_slot is for each slot that the job gets or gives. */
  const double* restart; /* 0 */
  const double* restart_grow;
  const double* restart_shrink;
  const double* restart_slot; /* 0 */
  const uint8_t* kind; /* the kind of the objective; a malleable_kind; of flows: for each flow */
  /* Epochs of flows. Flow f has the jobs from job_offset[f] to before job_offset[f + 1]; this
   * column is needed. Job i waits for other jobs of its flow: their rows have the places from
   * parent_offset[i] to before parent_offset[i + 1] in `parent`. */
  int64_t flows;
  const int64_t* job_offset;
  const int64_t* parent_offset; /* no job waits for another job */
  const int64_t* parent;
  /* Tandem epochs. Work is in seconds of the whole station: how long the phase takes if it has all
   * map slots, or all shuffle slots. */
  const double* map;               /* needed; * */
  const double* shuffle;           /* needed; * */
  const double* ready;             /* it follows from the progress of the map phase; * it is the
                                    * shuffle work that can be done now */
  const double* max_map_slots;     /* infinity, that is, all; * */
  const double* max_shuffle_slots; /* infinity, that is, all; * */
  /* Slotted epochs: map and reduce tasks on machines of equal speed. */
  const int64_t* maps;       /* needed; * map tasks that wait */
  const int64_t* reduces;    /* 0; * reduce tasks that wait and may start */
  const int64_t* running;    /* 0; * machines that the job holds */
  const double* map_left;    /* one step for each map task that waits; * machine seconds */
  const double* reduce_left; /* needed; * machine seconds */
} malleable_jobs;

/* Nodes and users. `map_slots` is needed. If `generic` is 1, slots run both maps and reduces; the
 * column map_slots then has all slots of each node, and reduce_slots is not read. */
typedef struct malleable_cluster {
  int64_t nodes;
  int64_t generic;
  const int64_t* map_slots;
  const int64_t* reduce_slots; /* 0 */
  const double* rate;          /* 1 */
  const int64_t* type;         /* 0 */
  const double* storage;       /* infinity; bytes a second */
  const double* link;          /* infinity; bytes a second */
  const uint64_t* partitions;  /* all; a bit for each partition that the node is in */
  const double* memory;        /* infinity; bytes */
  const double* gpus;          /* any number */
  int64_t users;
  const double* user_minimum;  /* 0 */
  const double* user_priority; /* 1 */
} malleable_cluster;

/* A column by its name, for columns that a structure does not have. Set `real` or `whole`, and
 * leave the other one null. */
typedef struct malleable_column {
  const char* name;
  const double* real;
  const int64_t* whole;
} malleable_column;

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
  const double* block; /* bytes that each map reads, for the adaptive policies: 0 */
  int64_t new_users;
  const double* new_user_minimum;  /* 0 */
  const double* new_user_priority; /* 1 */
  /* The number of further columns in `more`: max_slots and width (whole), requested, restart and
   * speedup (p) (real), and for auto and the adaptive policies node_rates (real): for each job,
   * phase and type of nodes, the rate of such nodes for the job; NaN: the rate of the node. */
  int64_t columns;
  const malleable_column* more;
} malleable_cluster_jobs;

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

/* ---- Options: structures of zeros, or null, stand for the defaults ---- */

typedef struct malleable_epoch_options {
  int64_t bytes;
  const char* model;     /* jobs; jobs, flows, tandem or slotted */
  const char* policy;    /* of jobs: flex; flex, fair, fifo or wdeq
                          * of flows: flowflex; flowflex, flowflex-fast, flowflex-literal, fair, fifo
                          * tandem: max-srpt; max-srpt, split-srpt, two-srpt or fcfs
                          * slotted: asrpt; asrpt, unlock, srpt, lrpt, fifo or fair */
  const char* objective; /* sum:response; of jobs and flows: sum:KIND or max:KIND */
  const int64_t* effort; /* of jobs: FLEX takes its own order; how many candidates (schedules) FLEX
                          * tries after its fixed orders; of flows: no plan is made; the same */
  double hysteresis;     /* 0; of jobs and flows */
  malleable_penalty penalty; /* none; of the jobs and flows of kind custom */
  const char* min_mode;      /* guarantee; of jobs: guarantee, gang or start */
  int64_t shuffle_slots;     /* 0; tandem: the slots of the second station */
  int64_t idle;        /* tandem: 0: other jobs get the slots that a job cannot use; 1: they stay
                        * idle */
  double step_seconds; /* 1; slotted: the length of a step */
  const char* sizes;   /* known; jobs: known or unknown (then `work` says nothing) */
} malleable_epoch_options;

typedef struct malleable_scheduler_options {
  int64_t bytes;
  const char* objective; /* sum:response */
  const char* policy;    /* auto; auto, flex, fair, fifo, wdeq, srpt, max-srpt, asrpt, hesrpt,
                          * gittins, flowflex, flowflex-fast, adaptive or adaptive-literal */
  /* The options of docs/options.md and of `malleable simulate --options`, but with learn=true, and
   * with take_back=false until you say that your engine can end tasks. In this text you write:
   * "prior=2 ageing=0 speedup=1;1.9;2.7". */
  const char* options;
  /* Policy adaptive-literal needs the matcher, which is called with `context` when jobs come and
   * rates have moved. If the matcher fails, the jobs have come all the same: the next decision or
   * assignment says so, and the one after that asks the matcher again. The classes of this policy
   * are the programs of jobs whose users have one priority. `adaptive` has the options of
   * malleable.AdaptiveLiteral in Python, as text: "grouped=true fallback=true". */
  const char* adaptive;
  malleable_matcher matcher;
  void* context;
} malleable_scheduler_options;

/* ---- What decisions write ---- */

/* If a column belongs to some objects only, its comment names them, and the others do not write it.
 * A row is one job. */
typedef struct malleable_decision {
  int64_t bytes;
  int64_t room;       /* for how many rows and ids the columns have room */
  int64_t rows;       /* written: the number of rows */
  int64_t overloaded; /* written: 1 if the jobs that keep coming need more whole slot-periods than
                       * there are (a slot-period is one slot, held for one period), otherwise 0 */
  int64_t* ids;       /* of jobs */
  int64_t* given;     /* slots from now on; tandem epochs and schedulers write two entries for each
                       * row: one for map or generic slots, then one for shuffle or reduce slots;
                       * slotted epochs: machines that the job holds */
  uint8_t* changed;   /* 1 if the slots differ from those of the decision before, otherwise 0 */
  /* For a period: the ids of jobs that could use more slots. If a slot becomes free before the next
   * decision, give it to the first of these jobs. Of tandem epochs `order` is for map slots,
   * of slotted epochs it has the jobs whose tasks wait. */
  int64_t* order;
  int64_t ordered;        /* written: the number of ids in `order` */
  int64_t* shuffle_order; /* tandem epochs: the same for shuffle slots */
  int64_t shuffle_ordered;
  double* value;       /* epochs of jobs: one number, the value of the decision */
  double* lower_bound; /* epochs of jobs: one number, which no schedule's value is below */
  uint8_t* ready; /* epochs of flows: 1 if the job can run, that is, its flow has arrived, and the
                   * jobs that it waits for have ended; otherwise 0 */
  int64_t* ended; /* epochs of flows: the flows that ended since the decision before; it needs room
                   * for all flows */
  int64_t ended_room;
  int64_t ended_flows; /* written: the number of ids in `ended` */
  double* share;       /* tandem epochs: parts of the two stations, two entries for each row */
  int64_t* maps;       /* slotted epochs: the number of maps that start */
  int64_t* reduces;    /* slotted epochs: the number of reduce tasks that start */
  uint8_t* bound;     /* slotted epochs; tandem epochs and schedulers, two entries for each row: why
                       * the job has no more slots, see malleable_bound_text */
  double* key;        /* schedulers: the job with the least key gets the next slot */
  int64_t* oversized; /* epochs of jobs: ids of jobs with a start condition that need more slots
                       * than there are; each is written once; it needs room for all rows */
  int64_t oversized_rows; /* written: the number of ids in `oversized` */
} malleable_decision;

/* The tasks that an assignment starts. `room` must be at least the number of free slots. */
typedef struct malleable_starts {
  int64_t bytes;
  int64_t room;
  int64_t rows;   /* written: the number of tasks */
  int64_t* ids;   /* of the tasks' jobs */
  int64_t* phase; /* 0 map, 1 reduce */
  int64_t* task;  /* the number of the task; -1 if you may start any task of the phase */
  int64_t* node;
} malleable_starts;

/* What happened to tasks: row k is about tasks[k] tasks of a job (null: one task). */
typedef struct malleable_events {
  int64_t bytes;
  int64_t count;
  const int64_t* ids;   /* of jobs */
  const int64_t* phase; /* 0 map, 1 reduce */
  const int64_t* tasks;
  const int64_t* node;   /* of tasks that ended: where; -1: unknown */
  const double* seconds; /* of tasks that ended: how long they ran; NaN: unknown */
  /* Of reduce tasks that ended: how many of the seconds are copying if all maps have ended before
   * the task starts; NaN: unknown. If reduce tasks copy nothing, say 0: with take_back=true the
   * scheduler starts some early otherwise, to learn how long they copy. */
  const double* copying;
  /* Of tasks with blocks that failed or were lost: the number that malleable_scheduler_assign gave,
   * or -1. */
  const int64_t* task;
  int64_t ignored; /* written: how many tasks were ignored because the event was impossible */
} malleable_events;

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

/* ---- Epochs ---- */

/* slots: of tandem epochs the map slots, of slotted epochs the number of machines. */
MALLEABLE_FUNCTION(int, malleable_epoch_new,
                   (int64_t slots, const malleable_epoch_options* options, malleable_epoch** made));
MALLEABLE_FUNCTION(void, malleable_epoch_free, (malleable_epoch * epoch));
/* Adds jobs and writes their ids, and of flows the ids of the flows, too. O(jobs added). */
MALLEABLE_FUNCTION(int, malleable_epoch_add,
                   (malleable_epoch * epoch, const malleable_jobs* jobs, int64_t* ids,
                    int64_t* flow_ids));
/* Changes the jobs `ids` (changes.count), and the flows `flow_ids` (changes.flows). */
MALLEABLE_FUNCTION(int, malleable_epoch_update,
                   (malleable_epoch * epoch, const malleable_jobs* changes, const int64_t* ids,
                    const int64_t* flow_ids));
/* These jobs have ended. Jobs of a flow that waited for them may run. */
MALLEABLE_FUNCTION(int, malleable_epoch_finish,
                   (malleable_epoch * epoch, int64_t count, const int64_t* ids));
/* Cancels jobs, with all jobs that wait for them, and whole flows. */
MALLEABLE_FUNCTION(int, malleable_epoch_remove,
                   (malleable_epoch * epoch, int64_t count, const int64_t* ids, int64_t flows,
                    const int64_t* flow_ids));
/* Decides. `slots`: the capacity from now on, of tandem epochs two numbers; null: as it was. Writes
 * one row for each job; of tandem and slotted epochs for each job that has slots or machines, whose
 * tasks start, or that had slots or machines until now. */
MALLEABLE_FUNCTION(int, malleable_epoch_decide,
                   (malleable_epoch * epoch, double now, const int64_t* slots, double period,
                    malleable_decision* decision));
/* The number of jobs that have not ended, and of flows. */
MALLEABLE_FUNCTION(int, malleable_epoch_size,
                   (malleable_epoch * epoch, int64_t* jobs, int64_t* flows));

/* The state of an epoch as bytes, for a copy or a checkpoint. Call this twice: in the first call
 * leave `bytes` null, and the function says how many there are. The second call writes them. */
MALLEABLE_FUNCTION(int, malleable_epoch_save,
                   (malleable_epoch * epoch, uint8_t* bytes, int64_t room, int64_t* count));
/* Makes an epoch of the same model what the saved one was. The penalty function stays. The same
 * version of the library must have saved the bytes. */
MALLEABLE_FUNCTION(int, malleable_epoch_load,
                   (malleable_epoch * epoch, const uint8_t* bytes, int64_t count));

/* ---- Scheduler: how many slots each job of a cluster gets, and which tasks start where ---- */

MALLEABLE_FUNCTION(int, malleable_scheduler_new,
                   (const malleable_cluster* cluster, const malleable_scheduler_options* options,
                    malleable_scheduler** made));
MALLEABLE_FUNCTION(void, malleable_scheduler_free, (malleable_scheduler * scheduler));
MALLEABLE_FUNCTION(int, malleable_scheduler_add,
                   (malleable_scheduler * scheduler, double now, const malleable_cluster_jobs* jobs,
                    int64_t* ids));
/* Says on which nodes the blocks of a job's map tasks are: `copies` nodes for the first map, then
 * for the next. Call this before a map of the job has started. The option replicas must be above 0.
 */
MALLEABLE_FUNCTION(int, malleable_scheduler_set_blocks,
                   (malleable_scheduler * scheduler, int64_t id, int64_t maps, int64_t copies,
                    const int64_t* nodes));
/* Tells what happened to tasks, and writes how many events were ignored. `what`:
 *   "started": tasks started that malleable_scheduler_assign did not start
 *   "ended": tasks ended well
 *   "failed": tasks failed, and wait again
 *   "lost": maps that had ended well run again, because their output is gone
 *   "ready": tasks of a phase may start now, also if the option slow_start does not allow it yet */
MALLEABLE_FUNCTION(int, malleable_scheduler_tell,
                   (malleable_scheduler * scheduler, double now, const char* what,
                    malleable_events* events));
/* For engines that show only how many tasks wait and run: the counts replace earlier reports. */
MALLEABLE_FUNCTION(int, malleable_scheduler_observe,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const malleable_task_counts* counts));
MALLEABLE_FUNCTION(int, malleable_scheduler_update,
                   (malleable_scheduler * scheduler, double now, int64_t count, const int64_t* ids,
                    const double* weight, const double* deadline, const double* map_seconds,
                    const double* reduce_seconds, const int64_t* min_map_slots,
                    const int64_t* min_reduce_slots, const double* restart));
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
/* Writes one row for each job. */
MALLEABLE_FUNCTION(int, malleable_scheduler_decide,
                   (malleable_scheduler * scheduler, double now, malleable_decision* decision));
/* Chooses tasks for the free slots of each node. The tasks count as started. */
MALLEABLE_FUNCTION(int, malleable_scheduler_assign,
                   (malleable_scheduler * scheduler, double now, const int64_t* free_map_slots,
                    const int64_t* free_reduce_slots, malleable_starts* starts));
/* With the option take_back=true, before an assignment: ends reduce tasks that wait for maps, if
 * others need their slots. These tasks count as waiting again. Writes the job of each task: end the
 * reduce task of the job that started last. `room` must be at least the number of tasks that run.
 */
MALLEABLE_FUNCTION(int, malleable_scheduler_take_back,
                   (malleable_scheduler * scheduler, double now, const int64_t* free_map_slots,
                    const int64_t* free_reduce_slots, int64_t* ids, int64_t room, int64_t* rows));
/* Writes the gain of a second attempt for each running task, one a row: the seconds by which the
 * task will probably end earlier, over the seconds that the second attempt will probably run; 0:
 * start none. `seconds` says how long the tasks have run (reduce tasks: since all maps had ended).
 * If the gain is above 0.22, start a second attempt in a slot that no ready task wants. */
MALLEABLE_FUNCTION(int, malleable_scheduler_backup_gains,
                   (malleable_scheduler * scheduler, int64_t count, const int64_t* ids,
                    const int64_t* phase, const double* seconds, double* gain));
/* What the scheduler knows of jobs: tasks that wait, run and have ended well, and the expected
 * seconds of a task. Each column has two entries for each row: one for map, then one for reduce. */
MALLEABLE_FUNCTION(int, malleable_scheduler_counts,
                   (malleable_scheduler * scheduler, int64_t count, const int64_t* ids,
                    int64_t* waiting, int64_t* running, int64_t* finished, double* estimate));
/* What the scheduler has learnt, as numbers for another scheduler (malleable_scheduler_recall).
 * Call this twice. In the first call leave `numbers` null: the function says how many there are. In
 * the second call `numbers` has room for all of them. Programs and users keep the numbers with
 * which you added them. */
MALLEABLE_FUNCTION(int, malleable_scheduler_history,
                   (malleable_scheduler * scheduler, double* numbers, int64_t room,
                    int64_t* count));
/* Gives the scheduler what another scheduler has learnt. Call this before you add the first job. */
MALLEABLE_FUNCTION(int, malleable_scheduler_recall,
                   (malleable_scheduler * scheduler, int64_t count, const double* numbers));
/* When you should ask again even if nothing happens. Infinity: at no time. */
MALLEABLE_FUNCTION(int, malleable_scheduler_next, (malleable_scheduler * scheduler, double* time));
MALLEABLE_FUNCTION(int, malleable_scheduler_size, (malleable_scheduler * scheduler, int64_t* jobs));

/* ---- The table of all functions, for programs that cannot link the library ---- */

/* clang-format changes this list each time it runs. */
/* clang-format off */
#define MALLEABLE_FUNCTIONS(X)                                                                     \
  X(version) X(message) X(bound_text) X(epoch_new) X(epoch_free) X(epoch_add) X(epoch_update)      \
  X(epoch_finish) X(epoch_remove) X(epoch_decide) X(epoch_size) X(epoch_save) X(epoch_load)        \
  X(scheduler_new) X(scheduler_free) X(scheduler_add) X(scheduler_set_blocks) X(scheduler_tell)    \
  X(scheduler_observe) X(scheduler_update) X(scheduler_set_users) X(scheduler_set_slots)           \
  X(scheduler_finish) X(scheduler_remove) X(scheduler_decide) X(scheduler_assign)                  \
  X(scheduler_take_back) X(scheduler_backup_gains) X(scheduler_counts) X(scheduler_history)        \
  X(scheduler_recall) X(scheduler_next) X(scheduler_size)
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
