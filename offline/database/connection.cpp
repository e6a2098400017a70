#include "offline/database/connection.hpp"

#include <cmath>

#include "offline/database/connections.hpp"
#include "offline/experiment/clean_text.hpp"

namespace refrain::database {

std::unique_ptr<Connection> Connection::open(const std::string& where, bool may_create) {
  if (where.starts_with("postgresql://") || where.starts_with("postgres://")) return open_postgresql(where);
  return open_sqlite(where, may_create);
}

std::string table_and_columns(const std::string& table, const std::vector<std::string>& columns) {
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ", ") + properties::quoted_name(column);
  return properties::quoted_name(table) + " (" + text + ")";
}

Value Connection::one(const std::string& sql) {
  Value result;
  bool is_first = true;
  query(sql, [&](std::span<const Value> row) {
    if (is_first) result = row[0];
    is_first = false;
  });
  return result;
}

Writing::~Writing() {
  if (done_) return;
  try {
    connection_.execute("ROLLBACK");
  } catch (const DatabaseError&) {  // the connection is lost, and with it what was written
  }
}

void Writing::commit() {
  connection_.execute("COMMIT");
  done_ = true;
}

std::int64_t integer_of(const Value& value, std::int64_t otherwise) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return static_cast<std::int64_t>(*real);
  return otherwise;
}

double real_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nan("");
}

Value value_of(double number) { return std::isfinite(number) ? Value(number) : Value(); }

std::string shown_text_of(const Value& value) { return experiment::clean_text(text_of(value)); }

std::string text_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace refrain::database
