/* A scheduler's loop in C: jobs come, work is done, jobs end, until nobody is left. */
#include <malleable/malleable.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, malleable_message()); \
      return 1;                                                                              \
    }                                                                                        \
  } while (0)

enum { JOBS = 50, SLOTS = 20 };

static double square(int64_t job, double completion) {
  (void)job;
  return completion * completion;
}

static int plans(void) {
  const double work[] = {3.0, 5.0};
  const int64_t low[] = {1, 0};
  malleable_jobs jobs = {2, work};
  malleable_plan *plan = NULL;
  int64_t status, rows, pieces;
  double value, bound, completion[2];
  CHECK(malleable_plan_jobs(&jobs, 2, "sum:custom", "flex", "guarantee", -1, 1e9, 0.0, square,
                            &plan) == MALLEABLE_OK);
  CHECK(malleable_plan_value(plan, &status, &value, &bound) == MALLEABLE_OK);
  CHECK(status == MALLEABLE_PLAN_OK && value == 1.5 * 1.5 + 4.0 * 4.0 && bound <= value);
  CHECK(malleable_plan_size(plan, &rows, NULL, &pieces) == MALLEABLE_OK && rows == 2);
  CHECK(malleable_plan_job_columns(plan, NULL, NULL, completion, NULL, 2) == MALLEABLE_OK);
  int64_t job[8], slots[8];
  double start[8], end[8];
  CHECK(pieces <= 8);
  CHECK(malleable_plan_pieces(plan, job, start, end, slots, 8) == MALLEABLE_OK);
  malleable_plan_free(plan);
  malleable_pieces schedule = {pieces, job, start, end, slots};
  CHECK(malleable_check_jobs(&jobs, 2, 0.0, "guarantee", 0, &schedule, completion) ==
        MALLEABLE_OK);
  jobs.min_slots = low;
  end[0] += 1.0;
  CHECK(malleable_check_jobs(&jobs, 2, 0.0, "guarantee", 0, &schedule, completion) ==
        MALLEABLE_INVALID);
  CHECK(strstr(malleable_message(), "invalid plan: job") != NULL);
  return 0;
}

int main(void) {
  malleable_epoch *epoch = NULL;
  CHECK(malleable_get_api()->api_version >= MALLEABLE_API_VERSION);
  CHECK(malleable_get_api()->epoch_decide == malleable_epoch_decide);
  CHECK(malleable_epoch_new(SLOTS, "sum:response", "flux", "guarantee", 0.0, -1, &epoch) ==
        MALLEABLE_INVALID);
  CHECK(strstr(malleable_message(), "flux") != NULL && epoch == NULL);
  CHECK(malleable_epoch_new(SLOTS, "sum:response", "flex", "guarantee", 0.0, -1, &epoch) ==
        MALLEABLE_OK);

  double left[JOBS];
  int64_t most[JOBS], ids[JOBS], given[JOBS], rows = 0, size = 0;
  for (int k = 0; k < JOBS; ++k) {
    left[k] = 5.0 + 7 * k % 11;
    most[k] = 1 + k % 6;
  }
  malleable_jobs jobs = {JOBS, left};
  jobs.max_slots = most;
  CHECK(malleable_epoch_add(epoch, &jobs, ids) == MALLEABLE_OK && ids[JOBS - 1] == JOBS - 1);
  double now = 0.0;
  int epochs = 0;
  for (;; ++epochs) {
    CHECK(epochs < 1000);
    int64_t overloaded = -1, order[JOBS], wishes = 0;
    CHECK(malleable_epoch_decide_period(epoch, now, -1, 0.5, ids, given, NULL, JOBS, &rows,
                                        &overloaded) == MALLEABLE_OK);
    CHECK(overloaded == 0);
    CHECK(malleable_epoch_order(epoch, order, JOBS, &wishes) == MALLEABLE_OK && wishes <= rows);
    if (rows == 0) break;
    int64_t used = 0, done[JOBS], finished = 0;
    double remaining[JOBS];
    for (int64_t k = 0; k < rows; ++k) {
      CHECK(given[k] >= 0 && given[k] <= most[ids[k]]);
      used += given[k];
      left[ids[k]] -= 0.5 * (double)given[k];
      if (left[ids[k]] < 0.0) left[ids[k]] = 0.0;
      remaining[k] = left[ids[k]];
    }
    CHECK(used <= SLOTS);
    now += 0.5;
    malleable_job_changes changes;
    memset(&changes, 0, sizeof changes);
    changes.work = remaining;
    CHECK(malleable_epoch_update(epoch, rows, ids, &changes) == MALLEABLE_OK);
    for (int64_t k = 0; k < rows; ++k) {
      if (remaining[k] == 0.0) done[finished++] = ids[k];
    }
    CHECK(malleable_epoch_finish(epoch, finished, done) == MALLEABLE_OK);
  }
  CHECK(epochs > 20);
  CHECK(malleable_epoch_decide(epoch, now - 1.0, -1, NULL, NULL, NULL, 0, &rows) ==
        MALLEABLE_INVALID);
  CHECK(malleable_epoch_size(epoch, &size) == MALLEABLE_OK && size == 0);
  CHECK(malleable_epoch_size(NULL, &size) == MALLEABLE_INVALID);
  malleable_epoch_free(epoch);
  malleable_epoch_free(NULL);
  return plans();
}
