#pragma once
/// SQL for a data model and for properties, for SQLite (3.35 or later) and PostgreSQL (12 or later).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "offline/properties/program.hpp"

namespace refrain::properties {

enum class Dialect : std::uint8_t { Sqlite, Postgresql };
inline constexpr const char* dialect_names[] = {"sqlite", "postgresql"};

/// A name, in double quotes.
std::string quoted_name(std::string_view name);
/// A string literal; zero bytes are left out, since PostgreSQL has none.
std::string quoted_text(std::string_view text);
/// The type of a column.
const char* column_type(const Type& type, Dialect dialect);

/// Statements that create the tables of a model, and those that create their indices; bulk loads go in between.
std::vector<std::string> table_statements(const Model& model, Dialect dialect);
std::vector<std::string> index_statements(const Model& model);

/// Conditions for some parameters of a property, by name, which the id of the object must fulfil; `{}` stands for the
/// id.
using Contexts = std::map<std::string, std::string>;

/// One statement that evaluates a property in all contexts. Its columns: the id of each parameter's object, in their
/// order; each condition, 0 or 1, or missing; confidence; severity. Rows: the contexts in which it holds, the most
/// severe ones first, those without a severity last.
std::string property_statement(const Property& property, const Model& model, Dialect dialect, const Contexts& contexts);

}  // namespace refrain::properties
