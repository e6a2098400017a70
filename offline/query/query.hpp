#pragma once
/// SQL over experiments: the tables of schema.hpp in a SQLite database in memory, and statements that read them.
/// Nothing can be written: only SELECT statements are accepted, and none that opens a file.
///
/// Belongs to one thread.

#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "offline/database/connection.hpp"
#include "offline/query/runs.hpp"

namespace refrain::query {

/// The statement is wrong, or fails: "line 1, column 8: no such column: x". Columns count bytes from 1.
class SqlError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using TakeValues = std::function<void(std::span<const database::Value> row)>;

/// The result of a statement. Rows are made while they are taken.
struct Answer {
  std::vector<std::string> columns;    ///< names, each once: a second `id` is `id:1`
  std::vector<database::Value> first;  ///< the first row; empty: there is none
  /// All rows, once. Throws SqlError, and the exceptions of reading an experiment.
  std::function<void(const TakeValues& take)> for_each_row;
};

class Query {
 public:
  explicit Query(std::vector<Run> runs);
  ~Query();
  /// The answer is valid as long as the Query. Throws like Answer::for_each_row.
  Answer ask(const std::string& sql);

 private:
  class Database;
  std::unique_ptr<Database> database_;
};

}  // namespace refrain::query
