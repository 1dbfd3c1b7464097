# The C interface for `cimport malleable`: types from the header (include_dirs=[malleable.get_include()]),
# functions from the table that the extension publishes. What each does is said in the header, from
# which `python -m tests.embed.pxd` writes this file.
from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef extern from "malleable/malleable.h" nogil:
    ctypedef enum malleable_status:
        MALLEABLE_OK
        MALLEABLE_INVALID
        MALLEABLE_BUSY
        MALLEABLE_NO_MEMORY
        MALLEABLE_FAILED
    ctypedef enum malleable_kind:
        MALLEABLE_RESPONSE
        MALLEABLE_COMPLETION
        MALLEABLE_STRETCH
        MALLEABLE_TARDY
        MALLEABLE_TARDINESS
        MALLEABLE_LATENESS
        MALLEABLE_SLA
        MALLEABLE_STRICT
        MALLEABLE_CUSTOM
    int64_t MALLEABLE_ALL_SLOTS
    int MALLEABLE_API_VERSION
    ctypedef struct malleable_epoch:
        pass
    ctypedef struct malleable_scheduler:
        pass
    ctypedef double (*malleable_penalty)(int64_t job, double completion) noexcept
    ctypedef int (*malleable_matcher)(
        void *context, int64_t classes, int64_t nodes, const double *arrival_rates,
        const double *execution_rates, const double *numbers, double *shares
    ) noexcept
    ctypedef struct malleable_jobs:
        int64_t bytes
        int64_t count
        const double *work
        const int64_t *min_slots
        const int64_t *max_slots
        const double *arrival
        const double *weight
        const double *deadline
        const double *size
        const int64_t *sla_offset
        const double *sla_time
        const double *sla_penalty
        const double *speedup
        const int64_t *rate_offset
        const double *rate
        const int64_t *min_mode
        const int64_t *preferred
        const double *restart
        const double *restart_grow
        const double *restart_shrink
        const double *restart_slot
        const uint8_t *kind
        int64_t flows
        const int64_t *job_offset
        const int64_t *parent_offset
        const int64_t *parent
        const double *map
        const double *shuffle
        const double *ready
        const double *max_map_slots
        const double *max_shuffle_slots
        const int64_t *maps
        const int64_t *reduces
        const int64_t *running
        const double *map_left
        const double *reduce_left
    ctypedef struct malleable_cluster:
        int64_t nodes
        int64_t generic
        const int64_t *map_slots
        const int64_t *reduce_slots
        const double *rate
        const int64_t *type
        const double *storage
        const double *link
        const uint64_t *partitions
        const double *memory
        const double *gpus
        int64_t users
        const double *user_minimum
        const double *user_priority
    ctypedef struct malleable_column:
        const char *name
        const double *real
        const int64_t *whole
    ctypedef struct malleable_cluster_jobs:
        int64_t count
        const double *arrival
        const int64_t *maps
        const int64_t *reduces
        const double *map_seconds
        const double *reduce_seconds
        const int64_t *min_map_slots
        const int64_t *min_reduce_slots
        const double *weight
        const double *deadline
        const int64_t *user
        const int64_t *program
        const int64_t *flow
        const int64_t *after_offset
        const int64_t *after
        const double *block
        int64_t new_users
        const double *new_user_minimum
        const double *new_user_priority
        int64_t columns
        const malleable_column *more
    ctypedef struct malleable_task_counts:
        const int64_t *pending_maps
        const int64_t *pending_reduces
        const int64_t *running_maps
        const int64_t *running_reduces
        const int64_t *done_maps
        const int64_t *done_reduces
        const int64_t *failed_maps
        const int64_t *failed_reduces
    ctypedef struct malleable_epoch_options:
        int64_t bytes
        const char *model
        const char *policy
        const char *objective
        const int64_t *effort
        double hysteresis
        malleable_penalty penalty
        const char *min_mode
        int64_t shuffle_slots
        int64_t idle
        double step_seconds
        const char *sizes
    ctypedef struct malleable_scheduler_options:
        int64_t bytes
        const char *objective
        const char *policy
        const char *options
        const char *adaptive
        malleable_matcher matcher
        void *context
    ctypedef struct malleable_decision:
        int64_t bytes
        int64_t room
        int64_t rows
        int64_t overloaded
        int64_t *ids
        int64_t *given
        uint8_t *changed
        int64_t *order
        int64_t ordered
        int64_t *shuffle_order
        int64_t shuffle_ordered
        double *value
        double *lower_bound
        uint8_t *ready
        int64_t *ended
        int64_t ended_room
        int64_t ended_flows
        double *share
        int64_t *maps
        int64_t *reduces
        uint8_t *bound
        double *key
        int64_t *oversized
        int64_t oversized_rows
    ctypedef struct malleable_starts:
        int64_t bytes
        int64_t room
        int64_t rows
        int64_t *ids
        int64_t *phase
        int64_t *task
        int64_t *node
    ctypedef struct malleable_events:
        int64_t bytes
        int64_t count
        const int64_t *ids
        const int64_t *phase
        const int64_t *tasks
        const int64_t *node
        const double *seconds
        const double *copying
        const int64_t *task
        int64_t ignored
    ctypedef struct malleable_api:
        int64_t api_version

cdef const char *malleable_version() noexcept nogil
cdef const char *malleable_message() noexcept nogil
cdef const char *malleable_bound_text(int64_t bound) noexcept nogil
cdef int malleable_epoch_new(
    int64_t slots, const malleable_epoch_options *options, malleable_epoch **made
) noexcept nogil
cdef void malleable_epoch_free(malleable_epoch *epoch) noexcept nogil
cdef int malleable_epoch_add(
    malleable_epoch *epoch, const malleable_jobs *jobs, int64_t *ids, int64_t *flow_ids
) noexcept nogil
cdef int malleable_epoch_update(
    malleable_epoch *epoch, const malleable_jobs *changes, const int64_t *ids,
    const int64_t *flow_ids
) noexcept nogil
cdef int malleable_epoch_finish(
    malleable_epoch *epoch, int64_t count, const int64_t *ids
) noexcept nogil
cdef int malleable_epoch_remove(
    malleable_epoch *epoch, int64_t count, const int64_t *ids, int64_t flows,
    const int64_t *flow_ids
) noexcept nogil
cdef int malleable_epoch_decide(
    malleable_epoch *epoch, double now, const int64_t *slots, double period,
    malleable_decision *decision
) noexcept nogil
cdef int malleable_epoch_size(
    malleable_epoch *epoch, int64_t *jobs, int64_t *flows
) noexcept nogil
cdef int malleable_epoch_save(
    malleable_epoch *epoch, uint8_t *bytes, int64_t room, int64_t *count
) noexcept nogil
cdef int malleable_epoch_load(
    malleable_epoch *epoch, const uint8_t *bytes, int64_t count
) noexcept nogil
cdef int malleable_scheduler_new(
    const malleable_cluster *cluster, const malleable_scheduler_options *options,
    malleable_scheduler **made
) noexcept nogil
cdef void malleable_scheduler_free(malleable_scheduler *scheduler) noexcept nogil
cdef int malleable_scheduler_add(
    malleable_scheduler *scheduler, double now, const malleable_cluster_jobs *jobs,
    int64_t *ids
) noexcept nogil
cdef int malleable_scheduler_set_blocks(
    malleable_scheduler *scheduler, int64_t id, int64_t maps, int64_t copies,
    const int64_t *nodes
) noexcept nogil
cdef int malleable_scheduler_tell(
    malleable_scheduler *scheduler, double now, const char *what,
    malleable_events *events
) noexcept nogil
cdef int malleable_scheduler_observe(
    malleable_scheduler *scheduler, double now, int64_t count, const int64_t *ids,
    const malleable_task_counts *counts
) noexcept nogil
cdef int malleable_scheduler_update(
    malleable_scheduler *scheduler, double now, int64_t count, const int64_t *ids,
    const double *weight, const double *deadline, const double *map_seconds,
    const double *reduce_seconds, const int64_t *min_map_slots,
    const int64_t *min_reduce_slots, const double *restart
) noexcept nogil
cdef int malleable_scheduler_set_users(
    malleable_scheduler *scheduler, double now, int64_t count, const int64_t *users,
    const double *minimum, const double *priority
) noexcept nogil
cdef int malleable_scheduler_set_slots(
    malleable_scheduler *scheduler, double now, int64_t count, const int64_t *nodes,
    const int64_t *map_slots, const int64_t *reduce_slots
) noexcept nogil
cdef int malleable_scheduler_finish(
    malleable_scheduler *scheduler, double now, int64_t count, const int64_t *ids
) noexcept nogil
cdef int malleable_scheduler_remove(
    malleable_scheduler *scheduler, double now, int64_t count, const int64_t *ids
) noexcept nogil
cdef int malleable_scheduler_decide(
    malleable_scheduler *scheduler, double now, malleable_decision *decision
) noexcept nogil
cdef int malleable_scheduler_assign(
    malleable_scheduler *scheduler, double now, const int64_t *free_map_slots,
    const int64_t *free_reduce_slots, malleable_starts *starts
) noexcept nogil
cdef int malleable_scheduler_take_back(
    malleable_scheduler *scheduler, double now, const int64_t *free_map_slots,
    const int64_t *free_reduce_slots, int64_t *ids, int64_t room, int64_t *rows
) noexcept nogil
cdef int malleable_scheduler_backup_gains(
    malleable_scheduler *scheduler, int64_t count, const int64_t *ids,
    const int64_t *phase, const double *seconds, double *gain
) noexcept nogil
cdef int malleable_scheduler_counts(
    malleable_scheduler *scheduler, int64_t count, const int64_t *ids, int64_t *waiting,
    int64_t *running, int64_t *finished, double *estimate
) noexcept nogil
cdef int malleable_scheduler_history(
    malleable_scheduler *scheduler, double *numbers, int64_t room, int64_t *count
) noexcept nogil
cdef int malleable_scheduler_recall(
    malleable_scheduler *scheduler, int64_t count, const double *numbers
) noexcept nogil
cdef int malleable_scheduler_next(
    malleable_scheduler *scheduler, double *time
) noexcept nogil
cdef int malleable_scheduler_size(
    malleable_scheduler *scheduler, int64_t *jobs
) noexcept nogil
cdef const malleable_api *malleable_get_api() noexcept nogil
