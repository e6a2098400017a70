#include "offline/database/store.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

namespace refrain::database {
namespace {

using properties::quoted_name;
using properties::quoted_text;

constexpr const char* format = "1";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The first lines that only one of the two has.
std::string difference(const std::vector<std::string>& theirs, const std::vector<std::string>& ours) {
  constexpr std::size_t most = 3;
  std::vector<std::string> differs;
  const auto add = [&](const std::vector<std::string>& a, const std::vector<std::string>& b, const char* who) {
    for (const std::string& line : a)
      if (std::ranges::find(b, line) == b.end()) differs.push_back(fmt::format("{} has \"{}\"", who, line));
  };
  add(theirs, ours, "the database");
  add(ours, theirs, "this version");
  const std::size_t all = differs.size();
  if (all > most) {
    differs.resize(most);
    differs.push_back(fmt::format("{} more", all - most));
  }
  return all == 0 ? "the order of attributes" : fmt::format("{}", fmt::join(differs, "; "));
}

}  // namespace

void Store::prepare() {
  if (connection_.has_table("refrain_about")) return check();
  for (const std::string& sql : properties::table_statements(model_, connection_.dialect())) connection_.execute(sql);
  for (const std::string& sql : properties::index_statements(model_)) connection_.execute(sql);
  for (const char* sql :
       {"CREATE TABLE refrain_about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE refrain_runs (run BIGINT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, added TEXT NOT NULL)",
        "CREATE TABLE refrain_rows (run BIGINT NOT NULL, name TEXT NOT NULL, first BIGINT NOT NULL, last BIGINT NOT "
        "NULL)"})
    connection_.execute(sql);
  connection_.execute(fmt::format("INSERT INTO refrain_about VALUES ('format', '{}'), ('model', {})", format,
                                  quoted_text(fmt::format("{}", fmt::join(model_.description(), "\n")))));
}

void Store::check() {
  if (!connection_.has_table("refrain_about"))
    throw DatabaseError(
        fmt::format("{}: there are no experiments in it; `refrain db add` puts them in", connection_.name()));
  if (const std::string other = text_of(connection_.one("SELECT value FROM refrain_about WHERE name = 'format'"));
      other != format)
    throw DatabaseError(
        fmt::format("{}: its format is {}, and this version of Refrain reads {}", connection_.name(), other, format));
  const std::string theirs = text_of(connection_.one("SELECT value FROM refrain_about WHERE name = 'model'"));
  if (const auto ours = model_.description(); theirs != fmt::format("{}", fmt::join(ours, "\n")))
    throw DatabaseError(fmt::format("{}: it was made for another data model: {}", connection_.name(),
                                    difference(lines_of(theirs), ours)));
}

std::vector<StoredRun> Store::runs(const RunFilter& filter) {
  std::vector<std::string> conditions{"TRUE"};
  if (!filter.program.empty()) conditions.push_back(fmt::format("p.\"Name\" = {}", quoted_text(filter.program)));
  if (!filter.version.empty()) conditions.push_back(fmt::format("v.\"Name\" = {}", quoted_text(filter.version)));
  if (filter.run) conditions.push_back(fmt::format("t.id = {}", *filter.run));
  std::vector<StoredRun> runs;
  connection_.query(
      fmt::format("SELECT t.id, v.id, p.\"Name\", v.\"Name\", t.\"Experiment\", r.digest, t.\"Start\", t.\"NoPe\", "
                  "t.\"Elapsed\", t.\"Source\" "
                  "FROM refrain_runs r JOIN \"TestRun\" t ON t.id = r.run JOIN \"ProgVersion\" v ON v.id = "
                  "t.\"ProgVersion_Runs\" "
                  "JOIN \"Program\" p ON p.id = v.\"Program_Versions\" WHERE {} ORDER BY p.\"Name\", v.id, t.id",
                  fmt::join(conditions, " AND ")),
      [&](std::span<const Value> row) {
        runs.push_back({integer_of(row[0]), integer_of(row[1]), shown_text_of(row[2]), shown_text_of(row[3]),
                        shown_text_of(row[4]), shown_text_of(row[5]), shown_text_of(row[9]), integer_of(row[6]),
                        static_cast<int>(integer_of(row[7])), real_of(row[8])});
      });
  return runs;
}

StoredRun Store::last_run(const RunFilter& filter) {
  const std::vector<StoredRun> all = runs(filter);
  if (all.empty())
    throw DatabaseError(
        fmt::format("{}: there is no such run; `refrain db list` shows what there is", connection_.name()));
  return *std::ranges::max_element(all, {}, &StoredRun::run);
}

std::optional<std::int64_t> Store::run_with(const std::string& digest) {
  const Value found =
      connection_.one(fmt::format("SELECT run FROM refrain_runs WHERE digest = {}", quoted_text(digest)));
  if (std::holds_alternative<std::monostate>(found)) return std::nullopt;
  return integer_of(found);
}

void Store::remove(const StoredRun& run) {
  std::vector<std::string> statements;
  connection_.query(
      fmt::format("SELECT name, first, last FROM refrain_rows WHERE run = {}", run.run),
      [&](std::span<const Value> row) {
        statements.push_back(fmt::format("DELETE FROM {} WHERE \"id\" BETWEEN {} AND {}", quoted_name(text_of(row[0])),
                                         integer_of(row[1]), integer_of(row[2])));
      });
  for (const std::string& sql : statements) connection_.execute(sql);
  connection_.execute(fmt::format("DELETE FROM refrain_rows WHERE run = {}", run.run));
  connection_.execute(fmt::format("DELETE FROM refrain_runs WHERE run = {}", run.run));
  if (integer_of(connection_.one(
          fmt::format("SELECT COUNT(*) FROM \"TestRun\" WHERE \"ProgVersion_Runs\" = {}", run.version_id))) > 0)
    return;
  // That was the version's last run: what its runs share goes, too, from the bottom up.
  const std::string functions =
      fmt::format("(SELECT \"id\" FROM \"Function\" WHERE \"ProgVersion_Functions\" = {})", run.version_id);
  const Value program = connection_.one(
      fmt::format("SELECT \"Program_Versions\" FROM \"ProgVersion\" WHERE \"id\" = {}", run.version_id));
  const Value code =
      connection_.one(fmt::format("SELECT \"Code\" FROM \"ProgVersion\" WHERE \"id\" = {}", run.version_id));
  for (const std::string& sql :
       {fmt::format("DELETE FROM \"FunctionCall\" WHERE \"Function_Calls\" IN {}", functions),
        fmt::format("DELETE FROM \"Region\" WHERE \"Function_Regions\" IN {}", functions),
        fmt::format("DELETE FROM \"CallPath\" WHERE \"ProgVersion_CallPaths\" = {}", run.version_id),
        fmt::format("DELETE FROM \"Function\" WHERE \"ProgVersion_Functions\" = {}", run.version_id),
        fmt::format("DELETE FROM \"ProgVersion\" WHERE \"id\" = {}", run.version_id),
        fmt::format("DELETE FROM \"SourceCode\" WHERE \"id\" = {}", integer_of(code, -1)),
        fmt::format("DELETE FROM \"Program\" WHERE \"id\" = {0} AND NOT EXISTS (SELECT 1 FROM \"ProgVersion\" WHERE "
                    "\"Program_Versions\" = {0})",
                    integer_of(program, -1))})
    connection_.execute(sql);
}

std::int64_t ObjectTables::Of::add_row(std::span<const Value> values) {
  row_[0] = next_;
  std::copy(values.begin(), values.end(), row_.begin() + static_cast<std::ptrdiff_t>(fixed_));
  appender_->row(row_);
  return next_++;
}

ObjectTables::Of& ObjectTables::of(const std::string& name, const std::vector<std::string>& attributes) {
  const auto [at, is_new] = tables_.try_emplace(name);
  Of& of = at->second;
  if (!is_new) return of;
  const int index = model_.class_named(name);
  const auto tables = model_.tables();
  const auto table = std::ranges::find(tables, model_.root_of(index), &properties::Table::root);
  of.table_ = table->name;
  of.first_ = of.next_ =
      integer_of(connection_.one(fmt::format("SELECT COALESCE(MAX(\"id\"), 0) FROM {}", quoted_name(of.table_)))) + 1;
  std::vector<std::string> columns{"id"};
  if (table->has_class) columns.emplace_back("class");
  of.fixed_ = columns.size();
  columns.insert(columns.end(), attributes.begin(), attributes.end());
  of.row_.resize(columns.size());
  if (table->has_class) of.row_[1] = std::int64_t{index};
  of.appender_ = connection_.append(of.table_, columns);
  return of;
}

void ObjectTables::finish(std::int64_t run, const std::vector<std::string>& of_run) {
  for (auto& [name, of] : tables_) {
    of.appender_->finish();
    if (of.next_ > of.first_ && std::ranges::find(of_run, name) != of_run.end())
      connection_.execute(fmt::format("INSERT INTO refrain_rows VALUES ({}, {}, {}, {})", run, quoted_text(of.table_),
                                      of.first_, of.next_ - 1));
  }
}

}  // namespace refrain::database
