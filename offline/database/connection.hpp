#pragma once
/// A database: SQLite in a file, or PostgreSQL. Nothing here depends on what is stored.
///
/// Belongs to one thread. Every failure throws DatabaseError with the database's name and its own message.

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

/// std::monostate is NULL. Booleans are integers.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Appends rows to a table. They are in the table after finish().
class Appender {
 public:
  virtual ~Appender() = default;
  virtual void row(std::span<const Value> values) = 0;
  virtual void finish() = 0;
};

class Connection {
 public:
  /// `where`: postgresql://..., or a file name. A missing file is created if `may_create`.
  static std::unique_ptr<Connection> open(const std::string& where, bool may_create);
  virtual ~Connection() = default;

  virtual properties::Dialect dialect() const = 0;
  /// The name of the database, without a password.
  virtual const std::string& name() const = 0;
  virtual void execute(const std::string& sql) = 0;
  virtual void query(const std::string& sql, const std::function<void(std::span<const Value> row)>& take) = 0;
  virtual bool has_table(const std::string& name) = 0;
  /// Called within a transaction.
  virtual std::unique_ptr<Appender> append(const std::string& table, const std::vector<std::string>& columns) = 0;
  /// Waits until no other connection writes, without a time limit. Calls `waiting` if it has to wait.
  virtual void begin_writing(const std::function<void()>& waiting) = 0;
  /// Updates the planner's statistics after rows have been written.
  virtual void analyze() = 0;

  /// The first column of the first row; NULL when there is no row.
  Value one(const std::string& sql);
};

/// A transaction: what is written appears as a whole at commit(), or not at all.
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
/// text_of(), cleaned for display: anybody may have written the database.
std::string shown_text_of(const Value& value);
/// NULL for a number that is not finite.
Value value_of(double number);

}  // namespace refrain::database
