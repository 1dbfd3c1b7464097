// The core's own headers, and the C interface beside them.
#include <malleable/malleable.h>

#include <cstdio>
#include <malleable/policy/epoch.hpp>
#include <vector>

int main() {
  const std::vector<double> work{6.0, 2.0, 4.0};
  malleable::JobColumns columns;
  columns.work = work;
  columns.min_slots.assign(3, 0);
  columns.arrival.assign(3, 0.0);
  columns.weight.assign(3, 1.0);
  malleable::Epoch own(4, {});
  own.add(malleable::Jobs(std::move(columns)));
  own.decide(0.0);

  const malleable_api& api = *malleable_get_api();
  malleable_epoch* epoch = nullptr;
  malleable_jobs jobs{};
  jobs.bytes = sizeof jobs;
  jobs.count = 3;
  jobs.work = work.data();
  std::vector<int64_t> given(3);
  malleable_decision decision{};
  decision.bytes = sizeof decision;
  decision.room = 3;
  decision.given = given.data();
  const bool fine = api.epoch_new(4, nullptr, &epoch) == 0 &&
                    api.epoch_add(epoch, &jobs, nullptr, nullptr) == 0 &&
                    api.epoch_decide(epoch, 0.0, nullptr, 0.0, &decision) == 0;
  api.epoch_free(epoch);
  const bool same = fine && std::vector(own.given().begin(), own.given().end()) == given;
  if (!same || given[1] != 4) std::fprintf(stderr, "decisions differ: %s\n", api.message());
  return same && given[1] == 4 ? 0 : 1;
}
