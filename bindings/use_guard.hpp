// The thread guard (model/use_guard.hpp: one thread at a time in an object) around methods that are
// bound unchanged.
#pragma once

#include <type_traits>

#include "malleable/model/use_guard.hpp"

namespace malleable::bindings {

// A method that holds the guard while it runs. `Bound` has the member `busy`.
template <typename Bound, typename Base, typename Result, typename... Arguments>
auto guarded(Result (Base::*method)(Arguments...)) {
  return [method](Bound& self, Arguments... arguments) -> std::decay_t<Result> {
    const UseGuard guard(self.busy);
    return (self.*method)(arguments...);
  };
}
template <typename Bound, typename Base, typename Result, typename... Arguments>
auto guarded(Result (Base::*method)(Arguments...) const) {
  return [method](const Bound& self, Arguments... arguments) -> std::decay_t<Result> {
    const UseGuard guard(self.busy);
    return (self.*method)(arguments...);
  };
}

}  // namespace malleable::bindings
