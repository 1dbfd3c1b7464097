/* A scheduler's loop in C: jobs come, work is done, jobs end, until nobody is left. */
#include <malleable/malleable.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, malleable_message()); \
      return 1;                                                                                 \
    }                                                                                           \
  } while (0)

enum { JOBS = 50, SLOTS = 20 };

int main(void) {
  malleable_epoch* epoch = NULL;
  CHECK(malleable_get_api()->api_version >= MALLEABLE_API_VERSION);
  CHECK(malleable_get_api()->epoch_decide == malleable_epoch_decide);
  malleable_epoch_options options = {sizeof options};
  options.objective = "sum:response";
  options.policy = "flux";
  CHECK(malleable_epoch_new(SLOTS, &options, &epoch) == MALLEABLE_INVALID);
  CHECK(strstr(malleable_message(), "flux") != NULL && epoch == NULL);
  options.policy = NULL;
  CHECK(malleable_epoch_new(SLOTS, &options, &epoch) == MALLEABLE_OK);

  double left[JOBS];
  int64_t most[JOBS], ids[JOBS], given[JOBS], rows = 0, size = 0;
  for (int k = 0; k < JOBS; ++k) {
    left[k] = 5.0 + 7 * k % 11;
    most[k] = 1 + k % 6;
  }
  malleable_jobs jobs = {sizeof jobs, JOBS, left};
  jobs.max_slots = most;
  CHECK(malleable_epoch_add(epoch, &jobs, ids, NULL) == MALLEABLE_OK && ids[JOBS - 1] == JOBS - 1);
  double now = 0.0;
  int epochs = 0;
  for (;; ++epochs) {
    CHECK(epochs < 1000);
    int64_t order[JOBS];
    malleable_decision decision;
    memset(&decision, 0, sizeof decision);
    decision.bytes = sizeof decision;
    decision.room = JOBS;
    decision.ids = ids;
    decision.given = given;
    decision.order = order;
    CHECK(malleable_epoch_decide(epoch, now, NULL, 0.5, &decision) == MALLEABLE_OK);
    rows = decision.rows;
    CHECK(decision.overloaded == 0 && decision.ordered <= rows);
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
    malleable_jobs changes = {sizeof changes, rows, remaining};
    CHECK(malleable_epoch_update(epoch, &changes, ids, NULL) == MALLEABLE_OK);
    for (int64_t k = 0; k < rows; ++k) {
      if (remaining[k] == 0.0) done[finished++] = ids[k];
    }
    CHECK(malleable_epoch_finish(epoch, finished, done) == MALLEABLE_OK);
  }
  CHECK(epochs > 20);
  malleable_decision none = {sizeof none};
  CHECK(malleable_epoch_decide(epoch, now - 1.0, NULL, 0.0, &none) == MALLEABLE_INVALID);
  CHECK(malleable_epoch_size(epoch, &size, NULL) == MALLEABLE_OK && size == 0);
  CHECK(malleable_epoch_size(NULL, &size, NULL) == MALLEABLE_INVALID);
  malleable_epoch_free(epoch);
  malleable_epoch_free(NULL);
  return 0;
}
