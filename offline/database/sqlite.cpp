#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include "offline/database/connections.hpp"
#include "offline/database/sqlite_values.hpp"

namespace refrain::database {
namespace {

constexpr int wait_step_ms = 200;
constexpr int longest_wait_ms = 24 * 3600 * 1000;

class Statement {
 public:
  Statement(sqlite3* database, const std::string& name, const std::string& sql) : database_(database), name_(name) {
    if (sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()) + 1, &statement_, nullptr) != SQLITE_OK)
      fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;

  /// False when there is no further row.
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) fail();
    return false;
  }
  void reset() { sqlite3_reset(statement_); }
  int columns() const { return sqlite3_column_count(statement_); }

  Value value(int column) const { return value_at(statement_, column); }

  /// The value must stay valid until the next step().
  void bind(int place, const Value& value) {
    if (database::bind(statement_, place, value) != SQLITE_OK) fail();
  }

 private:
  [[noreturn]] void fail() const { throw DatabaseError(fmt::format("{}: {}", name_, sqlite3_errmsg(database_))); }

  sqlite3* database_;
  const std::string& name_;
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteAppender : public Appender {
 public:
  SqliteAppender(sqlite3* database, const std::string& name, const std::string& sql)
      : statement_(database, name, sql) {}
  void row(std::span<const Value> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) statement_.bind(static_cast<int>(i) + 1, values[i]);
    statement_.step();
    statement_.reset();
  }
  void finish() override {}

 private:
  Statement statement_;
};

class Sqlite : public Connection {
 public:
  Sqlite(const std::string& file, bool may_create) : name_(file) {
    std::error_code error;
    if (!may_create && !std::filesystem::exists(file, error))
      throw DatabaseError(fmt::format("{}: there is no such database; `refrain db add` makes one", file));
    const int flags = SQLITE_OPEN_READWRITE | (may_create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(file.c_str(), &database_, flags, nullptr) != SQLITE_OK) {
      const std::string why = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
      sqlite3_close(database_);
      throw DatabaseError(fmt::format("{}: {}", file, why));
    }
    sqlite3_extended_result_codes(database_, 1);
    // For readers: a loader that has begun to write into the file blocks them until it is done.
    sqlite3_busy_timeout(database_, longest_wait_ms);
    try {
      // This fails if the file is no SQLite database, and takes back the rows of a killed loader.
      execute("PRAGMA schema_version");
      execute("PRAGMA cache_size = -262144");  // KiB
      execute("PRAGMA temp_store = MEMORY");
    } catch (...) {
      sqlite3_close(database_);
      throw;
    }
  }
  ~Sqlite() override { sqlite3_close(database_); }

  properties::Dialect dialect() const override { return properties::Dialect::Sqlite; }
  const std::string& name() const override { return name_; }

  void execute(const std::string& sql) override {
    query(sql, [](std::span<const Value>) {});
  }

  void query(const std::string& sql, const std::function<void(std::span<const Value>)>& take) override {
    Statement statement(database_, name_, sql);
    std::vector<Value> row(static_cast<std::size_t>(statement.columns()));
    while (statement.step()) {
      for (int i = 0; i < static_cast<int>(row.size()); ++i) row[static_cast<std::size_t>(i)] = statement.value(i);
      take(row);
    }
  }

  bool has_table(const std::string& name) override {
    return integer_of(one(fmt::format("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = {}",
                                      properties::quoted_text(name)))) > 0;
  }

  std::unique_ptr<Appender> append(const std::string& table, const std::vector<std::string>& columns) override {
    const std::vector<std::string> places(columns.size(), "?");
    return std::make_unique<SqliteAppender>(
        database_, name_,
        fmt::format("INSERT INTO {} VALUES ({})", table_and_columns(table, columns), fmt::join(places, ", ")));
  }

  void begin_writing(const std::function<void()>& waiting) override {
    sqlite3_busy_timeout(database_, wait_step_ms);
    for (bool told = false;; told = true) {
      const int result = sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
      if (result == SQLITE_OK) break;
      if ((result & 0xFF) != SQLITE_BUSY) throw DatabaseError(fmt::format("{}: {}", name_, sqlite3_errmsg(database_)));
      if (!told) waiting();
    }
    // The commit waits for readers.
    sqlite3_busy_timeout(database_, longest_wait_ms);
  }

  void analyze() override { execute("ANALYZE"); }

 private:
  const std::string name_;
  sqlite3* database_ = nullptr;
};

}  // namespace

Value value_at(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    case SQLITE_NULL: return {};
    default: break;
  }
  const bool is_text = sqlite3_column_type(statement, column) == SQLITE_TEXT;
  const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
  const std::span all(bytes, bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
  return is_text ? std::string(all.begin(), all.end()) : fmt::format("X'{:02X}'", fmt::join(all, ""));
}

int bind(sqlite3_stmt* statement, int place, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement, place, *integer);
  if (const auto* real = std::get_if<double>(&value)) return sqlite3_bind_double(statement, place, *real);
  if (const auto* text = std::get_if<std::string>(&value))
    return sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  return sqlite3_bind_null(statement, place);
}

std::unique_ptr<Connection> open_sqlite(const std::string& file, bool may_create) {
  return std::make_unique<Sqlite>(file, may_create);
}

}  // namespace refrain::database
