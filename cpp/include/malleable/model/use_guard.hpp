// An object with state serves one thread at a time: a second thread gets an error instead of
// corrupting the object. This is the only thread guard: every call from outside holds a UseGuard
// while it reads or changes the object, and Python's classes use it through `_core.UseGuard`.
#pragma once

#include <atomic>
#include <stdexcept>

namespace malleable {

class BusyError : public std::runtime_error {
 public:
  BusyError() : std::runtime_error("the object is in use by another thread") {}
};

// Whether a thread uses the object; a copy starts unused.
class Busy {
 public:
  Busy() = default;
  Busy(const Busy&) {}
  Busy& operator=(const Busy&) { return *this; }

  void take() const {
    if (flag_.test_and_set(std::memory_order_acquire)) throw BusyError();
  }
  void leave() const { flag_.clear(std::memory_order_release); }

 private:
  mutable std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

class UseGuard {
 public:
  explicit UseGuard(const Busy& busy) : busy_(busy) { busy_.take(); }
  ~UseGuard() { busy_.leave(); }
  UseGuard(const UseGuard&) = delete;
  UseGuard& operator=(const UseGuard&) = delete;

 private:
  const Busy& busy_;
};

}  // namespace malleable
