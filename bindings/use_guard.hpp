// The thread guard (model/use_guard.hpp) around methods that are bound as they are.
#pragma once

#include <type_traits>

#include "malleable/model/use_guard.hpp"

namespace malleable::bindings {

// A method of a class for Python that holds the object's turn. `Bound` has `busy`.
template <typename Bound, typename Base, typename Result, typename... Arguments>
auto guarded(Result (Base::*method)(Arguments...)) {
  return [method](Bound& self, Arguments... arguments) -> std::decay_t<Result> {
    const UseGuard turn(self.busy);
    return (self.*method)(arguments...);
  };
}
template <typename Bound, typename Base, typename Result, typename... Arguments>
auto guarded(Result (Base::*method)(Arguments...) const) {
  return [method](const Bound& self, Arguments... arguments) -> std::decay_t<Result> {
    const UseGuard turn(self.busy);
    return (self.*method)(arguments...);
  };
}

}  // namespace malleable::bindings
