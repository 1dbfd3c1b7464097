// One object that keeps state serves one thread at a time: a second caller is told so instead of
// corrupting it. The only thread guard; every binding of a mutable object holds a Turn while it
// reads or changes it, and Python's own classes use the same through `_core.Turn`.
#pragma once

#include <atomic>
#include <stdexcept>
#include <type_traits>

namespace malleable::bindings {

// Whether somebody is at it; that stays behind when the object is copied.
class Busy {
 public:
  Busy() = default;
  Busy(const Busy&) {}
  Busy& operator=(const Busy&) { return *this; }

  void take() const {
    if (flag_.test_and_set(std::memory_order_acquire)) {
      throw std::runtime_error("the object is in use by another thread");
    }
  }
  void leave() const { flag_.clear(std::memory_order_release); }

 private:
  mutable std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

class Turn {
 public:
  explicit Turn(const Busy& busy) : busy_(busy) { busy_.take(); }
  ~Turn() { busy_.leave(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const Busy& busy_;
};

// A method of a class for Python that holds the object's turn. `Bound` has `busy`.
template <typename Bound, typename Base, typename Result, typename... Arguments>
auto in_turn(Result (Base::*method)(Arguments...)) {
  return [method](Bound& self, Arguments... arguments) -> std::decay_t<Result> {
    const Turn turn(self.busy);
    return (self.*method)(arguments...);
  };
}
template <typename Bound, typename Base, typename Result, typename... Arguments>
auto in_turn(Result (Base::*method)(Arguments...) const) {
  return [method](const Bound& self, Arguments... arguments) -> std::decay_t<Result> {
    const Turn turn(self.busy);
    return (self.*method)(arguments...);
  };
}

}  // namespace malleable::bindings
