#pragma once
/// Aliases for the tables of metrics, losses and own times that both halves share (format/).

#include "format/metrics.hpp"
#include "format/own_times.hpp"
#include "format/windows.hpp"

namespace refrain::measurement {

using format::column_of;
using format::columns_of;
using format::has_column;
using format::has_extra_columns;
using format::Loss;
using format::loss_count;
using format::loss_table;
using format::metric_count;
using format::metric_table;
using format::MetricId;
using format::NodeKind;
using format::own_time_count;
using format::own_time_table;
using format::OwnTime;
using format::OwnTimeMean;
using format::Reduction;
using format::SpecialPath;
using format::stopped_unit;
using format::UnitTotals;
using format::WindowKind;
using format::WindowTraffic;

}  // namespace refrain::measurement
