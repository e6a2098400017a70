#pragma once
/// The tables whose rows are made while they are read. `runs` must outlive a table.

#include "offline/query/runs.hpp"
#include "offline/query/streamed_table.hpp"

namespace refrain::query {

/// `value`: values of runs by location, unit, call path and metric, read one location and unit at a time.
StreamedTable value_table(Runs& runs);
/// `iteration`: whole iterations of marked loops, read one location at a time.
StreamedTable iteration_table(Runs& runs);

}  // namespace refrain::query
