#pragma once
/// Names of the types of events in Python: as in the model of EARL; others as `refrain events` shows them.

#include <string>

#include "offline/trace/event.hpp"

namespace refrain::python {

std::string type_of(const trace::Event& event);

}  // namespace refrain::python
