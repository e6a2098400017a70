#include "offline/query/query.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <sqlite3.h>
#include <utility>

#include "offline/database/sqlite_values.hpp"
#include "offline/query/model_tables.hpp"
#include "offline/query/schema.hpp"
#include "offline/query/streamed_tables.hpp"

namespace refrain::query {

using database::Value;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

namespace {

/// Line and column of a byte, both from 1.
std::string position_in(const std::string& sql, std::size_t at) {
  const std::string_view before = std::string_view(sql).substr(0, std::min(at, sql.size()));
  const std::size_t line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  const std::size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", line, before.size() - start + 1);
}

/// The position of the last mistake, with ": "; empty: it is not known.
std::string position_of_mistake([[maybe_unused]] sqlite3* database, [[maybe_unused]] const std::string& sql) {
#if SQLITE_VERSION_NUMBER >= 3038000
  if (const int at = sqlite3_error_offset(database); at >= 0)
    return position_in(sql, static_cast<std::size_t>(at)) + ": ";
#endif
  return {};
}

constexpr const char* only_selects = "only a SELECT is taken: experiments are read, and no file is opened or written";

/// path(id): the names of a call path from the top.
void path_function(sqlite3_context* to, int, sqlite3_value** values) {
  const auto& paths = static_cast<const Runs*>(sqlite3_user_data(to))->paths();
  const std::int64_t id = sqlite3_value_int64(values[0]);
  if (sqlite3_value_type(values[0]) != SQLITE_INTEGER || id < 0 || static_cast<std::size_t>(id) >= paths.size())
    return sqlite3_result_null(to);
  try {
    std::vector<std::string_view> names;
    for (std::int64_t at = id; at >= 0; at = paths[static_cast<std::size_t>(at)].parent)
      names.push_back(paths[static_cast<std::size_t>(at)].name);
    std::ranges::reverse(names);
    const std::string text = fmt::format("{}", fmt::join(names, " > "));
    sqlite3_result_text64(to, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(to);
  }
}

/// The names of the columns; a repeated name gets a number appended.
std::vector<std::string> names_of(sqlite3_stmt* statement) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    const char* text = sqlite3_column_name(statement, i);
    const std::string given = text == nullptr ? "" : text;
    std::string name = given;
    for (int n = 1; !taken.insert(name).second; ++n) name = fmt::format("{}:{}", given, n);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

class Query::Database {
 public:
  explicit Database(std::vector<Run> runs)
      : runs_(std::move(runs)), values_(value_table(runs_)), iterations_(iteration_table(runs_)) {
    sqlite3* opened = nullptr;
    const int result =
        sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, nullptr);
    database_.reset(opened);
    if (result != SQLITE_OK) throw std::bad_alloc();
    require(sqlite3_create_function_v2(opened, "path", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, &runs_, path_function,
                                       nullptr, nullptr, nullptr));
    require(add_streamed_table(opened, "value", values_, failure_));
    require(add_streamed_table(opened, "iteration", iterations_, failure_));
    for (const TableRow& table : tables()) {
      // SQLite makes an entry for a streamed table when a statement first names it, which the authorizer would refuse.
      execute(table.is_streamed ? fmt::format("SELECT 1 FROM {} LIMIT 0", table.name).c_str() : table.text);
      if (!table.is_streamed && !table.needs_locations) fill(table);
    }
    execute("ANALYZE");
    sqlite3_set_authorizer(opened, allow, this);
    is_open_ = true;
  }

  Answer ask(const std::string& sql);

  /// False: there is no further row.
  bool step(sqlite3_stmt* statement) {
    const int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) fail({});
    return false;
  }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  /// Throws the exception of a table, or else SQLite's message.
  [[noreturn]] void fail(const std::string& position) {
    if (failure_.why) std::rethrow_exception(std::exchange(failure_.why, nullptr));
    if (sqlite3_errcode(database_.get()) == SQLITE_AUTH) throw SqlError(only_selects);
    throw SqlError(position + sqlite3_errmsg(database_.get()));
  }
  void require(int result) {
    if (result != SQLITE_OK) fail({});
  }
  void execute(const char* sql) { require(sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr)); }

  /// `rest`: receives the text after the first statement.
  StatementHandle prepare(const std::string& sql, std::string* rest = nullptr) {
    sqlite3_stmt* made = nullptr;
    const char* tail = nullptr;
    const int result = sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()) + 1, &made, &tail);
    StatementHandle statement(made);
    if (result != SQLITE_OK) fail(position_of_mistake(database_.get(), sql));
    if (rest != nullptr) *rest = tail;
    return statement;
  }

  /// Inserts all rows of a table, or none of them if reading them throws.
  void fill(const TableRow& table) {
    const bool was_open = std::exchange(is_open_, false);
    try {
      execute("BEGIN");
      insert_rows(table);
      execute("COMMIT");
    } catch (...) {
      sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
      is_open_ = was_open;
      throw;
    }
    is_open_ = was_open;
    filled_.insert(table.name);
  }
  void insert_rows(const TableRow& table) {
    StatementHandle statement;
    rows_of(table.name, runs_, [&](std::span<const Value> row) {
      if (!statement)
        statement = prepare(fmt::format("INSERT INTO {} VALUES ({})", table.name,
                                        fmt::join(std::vector<const char*>(row.size(), "?"), ", ")));
      for (std::size_t i = 0; i < row.size(); ++i)
        require(database::bind(statement.get(), static_cast<int>(i) + 1, row[i]));
      step(statement.get());
      sqlite3_reset(statement.get());
    });
  }
  /// The authorizer of statements: it allows reading, and notes the tables.
  static int allow(void* data, int action, const char* first, const char* second, const char*, const char*) {
    auto& self = *static_cast<Database*>(data);
    if (!self.is_open_) return SQLITE_OK;
    switch (action) {
      case SQLITE_SELECT:
      case SQLITE_RECURSIVE: return SQLITE_OK;
      case SQLITE_FUNCTION:
        return second != nullptr && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
      case SQLITE_READ:
        try {
          if (first != nullptr) self.named_.insert(first);
          return SQLITE_OK;
        } catch (const std::bad_alloc&) {
          return SQLITE_DENY;
        }
      default: return SQLITE_DENY;
    }
  }

  /// Whether `sql` has only spaces, semicolons and comments.
  bool is_empty(const std::string& sql) {
    try {
      return !prepare(sql);
    } catch (const SqlError&) {
      return false;
    }
  }

  Runs runs_;
  const StreamedTable values_, iterations_;
  Failure failure_;
  std::unique_ptr<sqlite3, Close> database_;  // after the tables, which it uses
  bool is_open_ = false;                      ///< for statements of users; else tables are filled
  std::set<std::string> named_, filled_;
};

Answer Query::Database::ask(const std::string& sql) {
  named_.clear();
  std::string rest;
  StatementHandle statement = prepare(sql, &rest);
  if (!statement) throw SqlError("there is no statement in it");
  if (!is_empty(rest))
    throw SqlError(position_in(sql, sql.size() - rest.size()) + ": only one statement is taken at a time");
  // SQLite asks the authorizer about VACUUM INTO only while it runs.
  if (sqlite3_stmt_readonly(statement.get()) == 0) throw SqlError(only_selects);
  for (const TableRow& table : tables())
    if (!table.is_streamed && named_.contains(table.name) && !filled_.contains(table.name)) fill(table);
  Answer answer{names_of(statement.get()), {}, {}};
  const auto next = [this, of = std::shared_ptr<sqlite3_stmt>(std::move(statement)), columns = answer.columns.size()] {
    std::vector<Value> row;
    if (step(of.get()))
      for (std::size_t i = 0; i < columns; ++i) row.push_back(database::value_at(of.get(), static_cast<int>(i)));
    return row;
  };
  answer.first = next();
  answer.for_each_row = [next, first = answer.first](const TakeValues& take) {
    for (std::vector<Value> row = first; !row.empty(); row = next()) take(row);
  };
  return answer;
}

Query::Query(std::vector<Run> runs) : database_(std::make_unique<Database>(std::move(runs))) {}
Query::~Query() = default;
Answer Query::ask(const std::string& sql) { return database_->ask(sql); }

}  // namespace refrain::query
