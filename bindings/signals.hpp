// Lets Ctrl-C interrupt the core while it runs without the interpreter's lock.
#pragma once

#include <pybind11/pybind11.h>

namespace malleable::bindings {

// The core calls this now and then: throws the exception that a signal's handler raised.
inline void poll_signals() {
  const pybind11::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

}  // namespace malleable::bindings
