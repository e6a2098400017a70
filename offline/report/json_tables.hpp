#pragma once
/// Tables as JSON. docs/report-format.md describes the documents; a test compares it with them.

#include "offline/report/json_writer.hpp"
#include "offline/report/table.hpp"

namespace refrain::report {

/// Raised when a member is removed, or changes its type, its unit or its meaning; new members do not raise it.
inline constexpr int schema_version = 1;

/// Writes the table as members of the current object.
void write_json(JsonWriter& json, const Table& table);
/// Writes a document of these tables, which begins with the version of its schema.
void write_json(const std::vector<Table>& tables, const Sink& out);

}  // namespace refrain::report
