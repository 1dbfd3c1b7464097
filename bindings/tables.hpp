// Tables of the core for Python: columns come in by name, are copied once and validated once;
// Python sees them as read-only arrays that keep their table alive.
//
// `Columns::each` lists the columns (model/terms.hpp); there is no other list of them here. Changes
// of an object come in by name, too, and are read without copying.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "columns.hpp"
#include "malleable/model/terms.hpp"

namespace malleable::bindings {

// Reads the columns of `made` from a dictionary (arrays, lists, or one value for all rows): into
// the optional that place(column) returns, then calls keep(column, the read column). If a column
// may be left out, None is the same as no entry. TypeError for a column of another type, or a
// missing one.
template <typename Columns, typename Made, typename Place, typename Keep, typename... Length>
void read_columns(const py::dict& given, Made& made, Place place, Keep keep, Length... length) {
  // Interned once, because making and finding the names takes longer than reading a small table.
  static const std::vector<py::handle> names = [&] {
    std::vector<py::handle> interned;
    Columns::each(made, length..., [&](const char* name, auto&, std::size_t, bool) {
      interned.push_back(PyUnicode_InternFromString(name));
    });
    return interned;
  }();
  std::size_t next = 0;
  Columns::each(made, length..., [&](const char*, auto& column, std::size_t rows, bool optional) {
    using T = std::remove_const_t<std::remove_reference_t<decltype(*column.data())>>;
    PyObject* const found = PyDict_GetItemWithError(given.ptr(), names[next++].ptr());
    if (found == nullptr && PyErr_Occurred()) throw py::error_already_set();
    const auto values = found == nullptr ? py::none() : py::reinterpret_borrow<py::object>(found);
    std::optional<Column<T>>& read = place(column);
    read.emplace(values, rows == kAnyLength ? Column<T>::kAny : rows);
    if (!optional) read->needed();
    if constexpr (std::is_same_v<T, std::int64_t>) read->at_most(kAllSlots);
    keep(column, *read);
  });
}

// The columns of a new table, copied.
template <typename Columns>
Columns columns_of(const py::dict& given) {
  Columns made;
  std::tuple<std::optional<Column<double>>, std::optional<Column<std::int64_t>>> room;
  const auto place = [&]<typename T>(const std::vector<T>&) -> auto& {
    return std::get<std::optional<Column<T>>>(room);
  };
  read_columns<Columns>(given, made, place, [](auto& column, auto& read) { column = read.take(); });
  return made;
}

// The columns of a call as spans, valid as long as this object lives; `Columns::each` lists them.
template <typename View, typename Columns = View>
class Given {
 public:
  template <typename... Length>
  explicit Given(const py::dict& given, Length... length) {
    std::size_t next = 0;
    const auto place = [&]<typename T>(const std::span<const T>&) -> auto& {
      return std::get<Room<T>>(room_).at(next++);
    };
    read_columns<Columns>(
        given, view_, place, [](auto& column, const auto& read) { column = read.get(); },
        length...);
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

  const View& view() const { return view_; }

 private:
  static constexpr std::size_t kMost = 24;  // columns of one call
  template <typename T>
  using Room = std::array<std::optional<Column<T>>, kMost>;

  View view_{};
  std::tuple<Room<double>, Room<std::int64_t>, Room<std::uint8_t>> room_;
};

// Columns of jobs that come, with their arrivals, which may be left out.
template <typename Columns>
struct Arriving : Columns {
  std::span<const double> arrival;

  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    Columns::each(self, kAnyLength, visit);
    visit("arrival", self.arrival, self.size(), true);
  }
};

// A read-only array of memory that `owner` keeps.
template <typename T>
py::array read_only(std::span<const T> values, const py::handle& owner) {
  Array<T> made(static_cast<py::ssize_t>(values.size()), values.data(), owner);
  py::detail::array_proxy(made.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return made;
}

// A table's class for Python, from which Python derives: made of columns, or the same as another
// table.
template <typename Table, typename Columns>
py::class_<Table, std::shared_ptr<Table>> bind_table(py::module_& module, const char* name) {
  py::class_<Table, std::shared_ptr<Table>> bound(module, name);
  // The constructor that is called most comes first.
  bound
      .def(py::init([](const py::dict& columns) {
             auto made = columns_of<Columns>(columns);
             const py::gil_scoped_release release;
             return std::make_shared<Table>(std::move(made));
           }),
           py::arg("columns"))
      .def(py::init([](const std::shared_ptr<Table>& table) { return table; }), py::arg("table"))
      .def(
          "_take",
          [](const Table& table, const Array<std::int64_t>& rows) {
            const auto chosen = view(rows);
            const py::gil_scoped_release release;
            return std::make_shared<Table>(table.take(chosen));
          },
          py::arg("rows").noconvert());
  py::list names;
  Columns nothing;
  Columns::each(nothing, [&](const char* column_name, auto& column, std::size_t, bool) {
    using Values = std::decay_t<decltype(column)>;
    const std::size_t place = names.size();
    names.append(column_name);
    bound.def_property_readonly(column_name, [place](const py::object& self) {
      const auto& table = py::cast<const Table&>(self);
      const Values* found = nullptr;
      std::size_t k = 0;
      Columns::each(table.columns(), [&](const char*, const auto& each, std::size_t, bool) {
        if (k++ != place) return;
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, Values>) found = &each;
      });
      return read_only(std::span<const typename Values::value_type>(*found), self);
    });
  });
  bound.attr("COLUMNS") = py::tuple(names);
  return bound;
}

}  // namespace malleable::bindings
