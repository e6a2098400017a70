#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <libpq-fe.h>

#include "offline/database/connections.hpp"

namespace refrain::database {
namespace {

/// Types of columns, from PostgreSQL's pg_type.dat.
enum Oid : unsigned {
  bool_oid = 16,
  int8_oid = 20,
  int2_oid = 21,
  int4_oid = 23,
  float4_oid = 700,
  float8_oid = 701,
  numeric_oid = 1700
};

/// The lock that all loaders wait for: an arbitrary number that no other program uses.
constexpr const char* lock_number = "7166724";

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

std::string one_line(const char* message) {
  std::string text(message);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

/// Writes COPY's text format in pieces, so that other tables can have theirs in between.
class PostgresqlAppender : public Appender {
 public:
  PostgresqlAppender(PGconn* connection, const std::string& name, std::string sql)
      : connection_(connection), name_(name), sql_(std::move(sql)) {}

  void row(std::span<const Value> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) buffer_ += '\t';
      put(values[i]);
    }
    buffer_ += '\n';
    if (buffer_.size() > (1 << 20)) finish();
  }

  void finish() override {
    if (buffer_.empty()) return;
    const Result begun(PQexec(connection_, sql_.c_str()), PQclear);
    if (PQresultStatus(begun.get()) != PGRES_COPY_IN) fail();
    const bool sent = PQputCopyData(connection_, buffer_.data(), static_cast<int>(buffer_.size())) == 1 &&
                      PQputCopyEnd(connection_, nullptr) == 1;
    buffer_.clear();
    if (!sent) fail();
    const Result result(PQgetResult(connection_), PQclear);
    const bool done = PQresultStatus(result.get()) == PGRES_COMMAND_OK;
    const std::string why = done ? std::string() : one_line(PQresultErrorMessage(result.get()));
    while (PGresult* rest = PQgetResult(connection_)) PQclear(rest);
    if (!done) throw DatabaseError(fmt::format("{}: {}", name_, why));
  }

 private:
  void put(const Value& value) {
    char digits[32];
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      buffer_.append(digits, std::to_chars(digits, digits + sizeof digits, *integer).ptr);
    } else if (const auto* real = std::get_if<double>(&value)) {
      buffer_.append(digits, std::to_chars(digits, digits + sizeof digits, *real).ptr);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      for (const char c : *text) switch (c) {
          case '\\': buffer_ += "\\\\"; break;
          case '\t': buffer_ += "\\t"; break;
          case '\n': buffer_ += "\\n"; break;
          case '\r': buffer_ += "\\r"; break;
          case '\0': break;
          default: buffer_ += c;
        }
    } else {
      buffer_ += "\\N";
    }
  }
  [[noreturn]] void fail() const {
    throw DatabaseError(fmt::format("{}: {}", name_, one_line(PQerrorMessage(connection_))));
  }

  PGconn* connection_;
  const std::string& name_;
  const std::string sql_;
  std::string buffer_;
};

class Postgresql : public Connection {
 public:
  explicit Postgresql(const std::string& where)
      : name_(without_password(where)), connection_(PQconnectdb(where.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) {
      const std::string why = one_line(PQerrorMessage(connection_));
      PQfinish(connection_);
      throw DatabaseError(fmt::format("{}: {}", name_, why));
    }
    PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);
    try {
      if (PQserverVersion(connection_) < 120000)
        throw DatabaseError(fmt::format("{}: PostgreSQL 12 or later is needed", name_));
      if (PQsetClientEncoding(connection_, "UTF8") != 0) fail();
      execute("SET standard_conforming_strings = on");
      execute("SET extra_float_digits = 3");
      execute("SET jit = off");  // compiling takes longer than the queries here
    } catch (...) {
      PQfinish(connection_);
      throw;
    }
  }
  ~Postgresql() override { PQfinish(connection_); }

  properties::Dialect dialect() const override { return properties::Dialect::Postgresql; }
  const std::string& name() const override { return name_; }

  void execute(const std::string& sql) override {
    const Result result(PQexec(connection_, sql.c_str()), PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail();
  }

  void query(const std::string& sql, const std::function<void(std::span<const Value>)>& take) override {
    if (PQsendQuery(connection_, sql.c_str()) != 1) fail();
    PQsetSingleRowMode(connection_);
    std::vector<Value> row;
    std::string failure;
    // All results are taken, since the connection is unusable before that.
    while (PGresult* next = PQgetResult(connection_)) {
      const Result result(next, PQclear);
      const auto status = PQresultStatus(next);
      if (status != PGRES_SINGLE_TUPLE && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        failure = one_line(PQresultErrorMessage(next));
        continue;
      }
      for (int i = 0; i < PQntuples(next); ++i) {
        row.clear();
        for (int column = 0; column < PQnfields(next); ++column) row.push_back(value(next, i, column));
        take(row);
      }
    }
    if (!failure.empty()) throw DatabaseError(fmt::format("{}: {}", name_, failure));
  }

  bool has_table(const std::string& name) override {
    return integer_of(
               one(fmt::format("SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = {}",
                               properties::quoted_text(name)))) > 0;
  }

  std::unique_ptr<Appender> append(const std::string& table, const std::vector<std::string>& columns) override {
    return std::make_unique<PostgresqlAppender>(connection_, name_,
                                                fmt::format("COPY {} FROM STDIN", table_and_columns(table, columns)));
  }

  void begin_writing(const std::function<void()>& waiting) override {
    execute("BEGIN");
    if (text_of(one(fmt::format("SELECT CASE WHEN pg_try_advisory_xact_lock({}) THEN 'yes' END", lock_number)))
            .empty()) {
      waiting();
      execute(fmt::format("SELECT pg_advisory_xact_lock({})", lock_number));
      // Statements that begin now see what others have written meanwhile.
    }
  }

  void analyze() override { execute("ANALYZE"); }

 private:
  /// Removes the password, the part between the user's name and the host.
  static std::string without_password(const std::string& where) {
    const std::size_t begin = where.find("://") + 3, at = where.find('@', begin), colon = where.find(':', begin);
    if (at == where.npos || colon == where.npos || colon > at) return where;
    return where.substr(0, colon) + where.substr(at);
  }

  static Value value(PGresult* result, int row, int column) {
    if (PQgetisnull(result, row, column)) return std::monostate();
    const char* text = PQgetvalue(result, row, column);
    const char* end = text + PQgetlength(result, row, column);
    switch (PQftype(result, column)) {
      case bool_oid: return std::int64_t{*text == 't'};
      case int2_oid:
      case int4_oid:
      case int8_oid: {
        std::int64_t integer = 0;
        std::from_chars(text, end, integer);
        return integer;
      }
      case float4_oid:
      case float8_oid:
      case numeric_oid: return std::strtod(text, nullptr);
      default: return std::string(text, end);
    }
  }

  [[noreturn]] void fail() const {
    throw DatabaseError(fmt::format("{}: {}", name_, one_line(PQerrorMessage(connection_))));
  }

  const std::string name_;
  PGconn* connection_;
};

}  // namespace

std::unique_ptr<Connection> open_postgresql(const std::string& where) { return std::make_unique<Postgresql>(where); }

}  // namespace refrain::database
