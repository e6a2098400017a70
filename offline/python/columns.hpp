#pragma once
/// Columns of tables as Python sees them: numbers in one piece, which numpy takes without a copy (the buffer protocol).

#include <cstdint>
#include <pybind11/pybind11.h>
#include <utility>
#include <vector>

namespace refrain::python {

template <class T>
class NumberColumn {
 public:
  void add(T value) { values_.push_back(value); }
  std::size_t size() const { return values_.size(); }
  T operator[](std::size_t at) const { return values_[at]; }
  std::vector<T>& values() { return values_; }

 private:
  std::vector<T> values_;
};
using Integers = NumberColumn<std::int64_t>;
using Reals = NumberColumn<double>;

/// Defines a column as a class of the module, whose elements can be read one by one, or all of them as a buffer.
template <class Column>
void define_column(pybind11::module_& module, const char* name, const char* help) {
  using Value = std::remove_reference_t<decltype(std::declval<Column&>().values().front())>;
  pybind11::class_<Column>(module, name, pybind11::buffer_protocol(), help)
      .def_buffer([](Column& of) {
        return pybind11::buffer_info(of.values().data(), static_cast<pybind11::ssize_t>(of.size()));
      })
      .def("__len__", &Column::size)
      .def("__getitem__", [](const Column& of, std::size_t at) -> Value {
        if (at >= of.size()) throw pybind11::index_error();
        return of[at];
      });
}

}  // namespace refrain::python
