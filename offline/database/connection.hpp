#pragma once
/// A database: SQLite in a file, or PostgreSQL. Nothing here knows what is stored.
///
/// Belongs to one thread. Everything that fails throws DatabaseError with the database's name and its own words.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "offline/properties/sql.hpp"

namespace refrain::database {

class DatabaseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Nothing: NULL. Truth values are integers.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Rows that are appended to a table. What was put in is there after finish().
class Appender {
 public:
  virtual ~Appender() = default;
  virtual void row(std::span<const Value> values) = 0;
  virtual void finish() = 0;
};

class Connection {
 public:
  /// `where`: postgresql://..., or the name of a file. A file that is not there is made when `may_create`.
  static std::unique_ptr<Connection> open(const std::string& where, bool may_create);
  virtual ~Connection() = default;

  virtual properties::Dialect dialect() const = 0;
  /// What it is called: without a password.
  virtual const std::string& name() const = 0;
  virtual void execute(const std::string& sql) = 0;
  virtual void query(const std::string& sql, const std::function<void(std::span<const Value> row)>& take) = 0;
  virtual bool has_table(const std::string& name) = 0;
  /// Within a transaction.
  virtual std::unique_ptr<Appender> append(const std::string& table, const std::vector<std::string>& columns) = 0;
  /// Waits until nobody else writes, for as long as it takes; `waiting` is called when that is not at once.
  virtual void begin_writing(const std::function<void()>& waiting) = 0;
  /// Statistics for the planner, of what has just been written.
  virtual void analyze() = 0;

  /// The first column of the first row; nothing when there is no row.
  Value one(const std::string& sql);
};

/// What is written is there as a whole after commit(), or not at all.
class Writing {
 public:
  Writing(Connection& connection, const std::function<void()>& waiting) : connection_(connection) {
    connection.begin_writing(waiting);
  }
  ~Writing();
  Writing(const Writing&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool done_ = false;
};

std::int64_t integer_of(const Value& value, std::int64_t otherwise = 0);
double real_of(const Value& value);  ///< NULL: NaN
std::string text_of(const Value& value);
/// The same for people: a database may have been written by anybody.
std::string shown_text_of(const Value& value);
/// NULL for what is not finite.
Value value_of(double number);

}  // namespace refrain::database
