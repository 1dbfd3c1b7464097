// The C interface for Cython and Numba: each function's address in a capsule that is named by its
// signature, as Cython writes it, so that `cimport malleable` finds it and checks it.
#include <pybind11/pybind11.h>

#include <string>
#include <type_traits>

#include "malleable/malleable.h"

namespace py = pybind11;

namespace malleable::bindings {
namespace {

template <typename T>
struct Name;
#define MALLEABLE_NAME(type)                   \
  template <>                                  \
  struct Name<type> {                          \
    static constexpr const char* text = #type; \
  };
MALLEABLE_NAME(void)
MALLEABLE_NAME(char)
MALLEABLE_NAME(int)
MALLEABLE_NAME(double)
MALLEABLE_NAME(int64_t)
MALLEABLE_NAME(uint8_t)
MALLEABLE_NAME(malleable_epoch)
MALLEABLE_NAME(malleable_scheduler)
MALLEABLE_NAME(malleable_jobs)
MALLEABLE_NAME(malleable_cluster)
MALLEABLE_NAME(malleable_cluster_jobs)
MALLEABLE_NAME(malleable_epoch_options)
MALLEABLE_NAME(malleable_scheduler_options)
MALLEABLE_NAME(malleable_task_counts)
MALLEABLE_NAME(malleable_decision)
MALLEABLE_NAME(malleable_starts)
MALLEABLE_NAME(malleable_events)
MALLEABLE_NAME(malleable_api)
#undef MALLEABLE_NAME

// A declaration without a name: `int64_t const *`.
template <typename T>
std::string written() {
  // Added to in place: GCC 12 warns of texts that are joined into a new one.
  if constexpr (std::is_const_v<T>) {
    std::string text = written<std::remove_const_t<T>>();
    return text += " const";
  } else if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    std::string to = written<std::remove_pointer_t<T>>();
    return to += to.back() == '*' ? "*" : " *";
  } else {
    return Name<T>::text;
  }
}

template <typename Result, typename... Arguments>
std::string signature(Result (*)(Arguments...)) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + written<Arguments>()), ...);
  const std::string result = written<Result>();
  return result + (result.back() == '*' ? "(" : " (") + (text.empty() ? "void" : text) + ")";
}

template <typename Function>
void publish(py::dict& table, const char* name, Function* function) {
  auto* text = new std::string(signature(function));  // as long as the capsule
  PyObject* made = PyCapsule_New(reinterpret_cast<void*>(function), text->c_str(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  table[py::str(name)] = py::reinterpret_steal<py::object>(made);
}

}  // namespace

void bind_embed(py::module_& module) {
  py::dict table;
#define MALLEABLE_PUBLISH(name) publish(table, "malleable_" #name, &malleable_##name);
  MALLEABLE_FUNCTIONS(MALLEABLE_PUBLISH)
#undef MALLEABLE_PUBLISH
  publish(table, "malleable_get_api", &malleable_get_api);
  module.attr("__pyx_capi__") = table;
}

}  // namespace malleable::bindings
