// One object serves one thread at a time; a second caller is told so instead of corrupting it.
#pragma once

#include <atomic>
#include <stdexcept>

namespace malleable::bindings {

class Turn {
 public:
  explicit Turn(std::atomic_flag& busy) : busy_(busy) {
    if (busy_.test_and_set(std::memory_order_acquire)) {
      throw std::runtime_error("the epoch object is in use by another thread");
    }
  }
  ~Turn() { busy_.clear(std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic_flag& busy_;
};

}  // namespace malleable::bindings
