// Objects in different threads share nothing, and a turn keeps a second thread out; `make tsan`
// runs this under ThreadSanitizer.

#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

#include "check.hpp"
#include "malleable/model/use_guard.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/slotted_epoch.hpp"
#include "malleable/policy/tandem_epoch.hpp"
#include "malleable/sim/tandem_batch.hpp"

namespace malleable::check {
namespace test_use_guard {

using Reals = std::vector<double>;
using Wholes = std::vector<std::int64_t>;

constexpr int kThreads = 4;

void in_threads(const std::function<void(int)>& run) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(run, t);
  for (std::thread& thread : threads) thread.join();
}

// A few jobs come, something is decided, and all are asked for: one call of a busy loop.
void step(Epoch& epoch, int k) {
  const std::size_t n = 20;
  Reals arrival(n, 0.0), work(n), weight(n, 1.0), deadline(n), none;
  std::iota(work.begin(), work.end(), 1.0 + k);
  std::iota(deadline.begin(), deadline.end(), 5.0);
  const Wholes low(n, 0), high(n, 7), offset(n + 1, 0);
  epoch.add({{arrival, weight, deadline, work, {offset, none, none}}, work, low, high});
  epoch.decide(1.0);
  epoch.plan(/*detail=*/false);
  epoch.plan();
  const Wholes ids(epoch.ids().begin(), epoch.ids().begin() + 10);
  epoch.update(ids, {Reals(10, 2.0), {}, {}, {}, {}});
  epoch.remove(ids);
}

void step(TandemEpoch& epoch, int k) {
  Wholes ids(5);
  const Reals size{1.0, 2.0, 3.0, 4.0, 1.0 + k};
  epoch.add(Reals(5, 0.0), {size, size, {}, {}, {}}, ids);
  epoch.decide(1.0, {{7, 5}});
  epoch.remove(ids);
}

void step(SlottedEpoch& epoch, int k) {
  Wholes ids(3);
  const Wholes maps{1, 2, 3 + k}, none{0, 0, 0};
  epoch.add(Reals(3, 0.0), {maps, none, none, {}, Reals{1.0, 2.0, 3.0}}, ids);
  epoch.decide(0.0);
  k % 2 == 0 ? epoch.remove(ids) : epoch.finish(ids);
}

void step(TandemBatch& batch, int) {
  batch.search(20);
  Reals map, shuffle;
  batch.plan(map, shuffle);
}

Epoch make_epoch() {
  EpochOptions options;
  options.kind = Kind::kTardiness;
  options.effort = 5;
  return Epoch(30, options);
}
TandemEpoch make_tandem_epoch() { return TandemEpoch({TandemPolicy::kSplitSrpt}); }
SlottedEpoch make_slotted() { return SlottedEpoch(4, 1.0, "asrpt"); }
TandemBatch make_batch() {
  Reals size(30);
  std::iota(size.begin(), size.end(), 1.0);
  return TandemBatch(size, Reals(size.rbegin(), size.rend()));
}

template <typename Make>
void share_nothing(Make make) {
  in_threads([&](int thread) {
    auto own = make();
    for (int k = 0; k < 15; ++k) step(own, thread + k);
  });
}

// A thread that comes while another one uses the object gets an error, and the object stays whole.
template <typename Make>
void take_turns(Make make) {
  auto shared = make();
  Busy busy;
  std::atomic<int> served = 0, refused = 0;
  in_threads([&](int thread) {
    for (int k = 0; k < 15; ++k) {
      try {
        const UseGuard turn(busy);
        step(shared, thread + k);
        ++served;
      } catch (const std::runtime_error&) {
        ++refused;
      }
    }
  });
  CHECK_EQUAL(served + refused, kThreads * 15);
  CHECK(served > 0);
  const UseGuard turn(busy);  // no thread has it any more
}

TEST(objects_in_different_threads_share_nothing) {
  share_nothing(make_epoch);
  share_nothing(make_tandem_epoch);
  share_nothing(make_slotted);
  share_nothing(make_batch);
}

TEST(one_object_serves_one_thread_at_a_time) {
  take_turns(make_epoch);
  take_turns(make_tandem_epoch);
  take_turns(make_slotted);
  take_turns(make_batch);
}

TEST(a_turn_ends_with_its_scope_and_is_not_copied) {
  const Busy busy;
  {
    const UseGuard turn(busy);
    CHECK_THROWS(UseGuard{busy}, "in use by another thread");
    const Busy copy(busy);  // the copy of an object that is in use is free
    const UseGuard other(copy);
  }
  const UseGuard turn(busy);
}

}  // namespace test_use_guard
}  // namespace malleable::check
