/* A scheduler's loop in C. With the library installed (docs/embed.md) one command builds it:
 *
 *   cc loop.c $(pkg-config --cflags --libs malleable) -Wl,-rpath,$(pkg-config --variable=libdir
 * malleable) -o loop_c
 *
 * The rpath tells the program where libmalleable.so is; without it, set LD_LIBRARY_PATH. */
#include <malleable/malleable.h>
#include <stdio.h>

#define CHECK(status)                             \
  if ((status) != MALLEABLE_OK) {                 \
    fprintf(stderr, "%s\n", malleable_message()); \
    return 1;                                     \
  }

enum { JOBS = 3, SLOTS = 10 };

int main(void) {
  double work[JOBS] = {40.0, 18.0, 9.0}; /* slot-seconds that are left */
  const int64_t most[JOBS] = {8, 4, 4};
  malleable_jobs jobs = {sizeof jobs, JOBS, work};
  malleable_epoch* epoch = NULL;
  jobs.max_slots = most;
  CHECK(malleable_epoch_new(SLOTS, NULL, &epoch)); /* or a malleable_epoch_options */
  CHECK(malleable_epoch_add(epoch, &jobs, NULL, NULL));
  for (int now = 0;; ++now) {
    int64_t ids[JOBS], given[JOBS], slots[JOBS] = {0}, ended[JOBS], count = 0;
    double left[JOBS];
    malleable_decision decision = {sizeof decision, JOBS};
    decision.ids = ids;
    decision.given = given;
    CHECK(malleable_epoch_decide(epoch, now, NULL, 1.0, &decision)); /* held for a second */
    if (decision.rows == 0) break;                                   /* all jobs have ended */
    for (int64_t k = 0; k < decision.rows; ++k) { /* your cluster works for a second */
      slots[ids[k]] = given[k];
      work[ids[k]] -= (double)given[k];
      if (work[ids[k]] <= 0.0) {
        work[ids[k]] = 0.0;
        ended[count++] = ids[k];
      }
      left[k] = work[ids[k]];
    }
    printf("%d s: %d %d %d\n", now, (int)slots[0], (int)slots[1], (int)slots[2]);
    malleable_jobs changes = {sizeof changes, decision.rows, left};
    CHECK(malleable_epoch_update(epoch, &changes, ids, NULL));
    CHECK(malleable_epoch_finish(epoch, count, ended));
  }
  malleable_epoch_free(epoch);
  return 0;
}
