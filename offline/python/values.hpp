#pragma once
/// C++ values as Python objects; None if a value is not known.

#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include "offline/trace/event.hpp"

namespace refrain::python {

/// Names of other tools' archives may be in any encoding.
inline pybind11::str text(const std::string& value) {
  return pybind11::reinterpret_steal<pybind11::str>(
      PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "backslashreplace"));
}
inline pybind11::list texts(const std::vector<std::string>& values) {
  pybind11::list all;
  for (const std::string& value : values) all.append(text(value));
  return all;
}
inline pybind11::object rank_or_none(std::int32_t rank) {
  return rank < 0 ? pybind11::object(pybind11::none()) : pybind11::object(pybind11::int_(rank));
}
inline pybind11::object path_or_none(std::uint32_t path) {
  return path == trace::no_path ? pybind11::object(pybind11::none()) : pybind11::object(pybind11::int_(path));
}

}  // namespace refrain::python
