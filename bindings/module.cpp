// The extension module: all bindings; only the first interpreter of a process may import it.
#include <pybind11/pybind11.h>

#include "malleable/model/state.hpp"
#include "use_guard.hpp"

namespace py = pybind11;

namespace malleable::bindings {
void bind_model(py::module_& module);
void bind_policy(py::module_& module);
void bind_epoch(py::module_& module);
void bind_flows(py::module_& module);
void bind_flow_epoch(py::module_& module);
void bind_tandem(py::module_& module);
void bind_slotted(py::module_& module);
void bind_tandem_epoch(py::module_& module);
void bind_cluster_policies(py::module_& module);
void bind_scheduler(py::module_& module);
void bind_cluster(py::module_& module);
void bind_adaptive(py::module_& module);
void bind_embed(py::module_& module);
}  // namespace malleable::bindings

namespace {

// NumPy and pybind11 keep state by process, and wait for ever if a second interpreter asks for it.
// CPython 3.13 calls PyInit__core in the first interpreter and fills the module in the second.
bool in_first_interpreter() { return PyInterpreterState_Get() == PyInterpreterState_Main(); }
constexpr const char* kRefusal =
    "malleable cannot be imported in a subinterpreter: use threads or processes";

}  // namespace

// No global state, and no object is shared between threads unless the caller does so.
PYBIND11_MODULE(_core_bound, module, py::mod_gil_not_used()) {
  if (!in_first_interpreter()) throw py::import_error(kRefusal);
  module.doc() = "Compiled core of malleable; use the package's own functions instead.";
  module.attr("__version__") = malleable::package_version();
  // `with guard:` for classes that keep state in Python.
  py::class_<malleable::Busy>(module, "UseGuard")
      .def(py::init<>())
      .def("__enter__", [](const malleable::Busy& busy) { busy.take(); })
      .def("__exit__", [](const malleable::Busy& busy, const py::args&) { busy.leave(); });
  malleable::bindings::bind_model(module);
  malleable::bindings::bind_policy(module);
  malleable::bindings::bind_epoch(module);
  malleable::bindings::bind_flows(module);
  malleable::bindings::bind_flow_epoch(module);
  malleable::bindings::bind_tandem(module);
  malleable::bindings::bind_slotted(module);
  malleable::bindings::bind_tandem_epoch(module);
  malleable::bindings::bind_cluster_policies(module);
  malleable::bindings::bind_scheduler(module);
  malleable::bindings::bind_cluster(module);
  malleable::bindings::bind_adaptive(module);
  malleable::bindings::bind_embed(module);
}

extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (in_first_interpreter()) return PyInit__core_bound();
  PyErr_SetString(PyExc_ImportError, kRefusal);
  return nullptr;
}
