// A scheduler's loop in C++, over the C interface. With the library installed (docs/embed.md) one
// command builds it:
//
//   c++ -std=c++20 loop.cpp $(pkg-config --cflags --libs malleable) \
//     -Wl,-rpath,$(pkg-config --variable=libdir malleable) -o loop_cpp
#include <malleable/malleable.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

void check(int status) {
  if (status != MALLEABLE_OK) throw std::runtime_error(malleable_message());
}

struct Free {
  void operator()(malleable_epoch* epoch) const { malleable_epoch_free(epoch); }
};

}  // namespace

int main() try {
  std::vector<double> work{40.0, 18.0, 9.0};  // slot-seconds that are left
  const std::vector<int64_t> most{8, 4, 4};
  malleable_epoch* made = nullptr;
  check(malleable_epoch_new(10, nullptr, &made));  // or a malleable_epoch_options
  const std::unique_ptr<malleable_epoch, Free> epoch(made);
  malleable_jobs jobs{.bytes = sizeof jobs, .count = 3, .work = work.data()};
  jobs.max_slots = most.data();
  check(malleable_epoch_add(epoch.get(), &jobs, nullptr, nullptr));
  for (int now = 0;; ++now) {
    std::vector<int64_t> ids(3), given(3), slots(3), ended;
    malleable_decision decision{.bytes = sizeof decision, .room = 3};
    decision.ids = ids.data();
    decision.given = given.data();
    check(malleable_epoch_decide(epoch.get(), now, nullptr, 1.0, &decision));  // held for a second
    if (decision.rows == 0) return 0;  // all jobs have ended
    std::vector<double> left;
    for (int64_t k = 0; k < decision.rows; ++k) {  // your cluster works for a second
      double& own = work[ids[k]];
      own = std::max(0.0, own - static_cast<double>(given[k]));
      left.push_back(own);
      slots[ids[k]] = given[k];
      if (own == 0.0) ended.push_back(ids[k]);
    }
    std::cout << now << " s: " << slots[0] << ' ' << slots[1] << ' ' << slots[2] << '\n';
    malleable_jobs changes{.bytes = sizeof changes, .count = decision.rows, .work = left.data()};
    check(malleable_epoch_update(epoch.get(), &changes, ids.data(), nullptr));
    check(malleable_epoch_finish(epoch.get(), static_cast<int64_t>(ended.size()), ended.data()));
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
