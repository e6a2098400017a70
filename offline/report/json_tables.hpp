#pragma once
/// Tables as JSON.

#include "offline/report/json_writer.hpp"
#include "offline/report/table.hpp"

namespace refrain::report {

/// As members of the object that is being written.
void write_json(JsonWriter& json, const Table& table);
/// A document of these tables.
void write_json(const std::vector<Table>& tables, const Sink& out);

}  // namespace refrain::report
