#include "offline/query/schema.hpp"

#include <algorithm>

namespace refrain::query {
namespace {

constexpr TableRow table_rows[] = {{"run", R"(CREATE TABLE run (
  id INTEGER PRIMARY KEY,   -- 0, 1, ... in the order of the command line
  experiment TEXT,          -- directory or file
  program TEXT,
  processes INTEGER,
  is_complete INTEGER       -- 0: the program still runs, or ended before it could write everything
)
)",
                                    false, false},
                                   {"location", R"(CREATE TABLE location (
  id INTEGER PRIMARY KEY,
  run INTEGER,              -- run.id
  rank INTEGER,
  thread INTEGER,           -- 0: the first one of the process
  name TEXT
)
)",
                                    false, false},
                                   {"metric", R"(CREATE TABLE metric (
  id INTEGER PRIMARY KEY,
  name TEXT UNIQUE,         -- 'wall', 'mpi', 'user', 'wait', 'visits', 'bytes_sent', 'late_sender', ...
  unit TEXT,                -- 's', 'B' or '1'
  parent INTEGER,           -- metric.id of the metric that it is a part of; never add up both
  help TEXT
)
)",
                                    false, false},
                                   {"function", R"(CREATE TABLE function (
  id INTEGER PRIMARY KEY,
  name TEXT,
  is_mpi INTEGER
)
)",
                                    false, false},
                                   {"callpath", R"(CREATE TABLE callpath (
  id INTEGER PRIMARY KEY,   -- in preorder: those below it are id + 1 to last. path(id) is its text
  parent INTEGER,           -- callpath.id; NULL: at the top
  last INTEGER,             -- the last call path below it, or itself
  depth INTEGER,            -- 1: at the top
  name TEXT,
  kind TEXT,                -- 'user', 'mpi' or 'other': time that is in no function
  is_marked INTEGER,        -- a loop or region that the program marks
  function INTEGER          -- function.id, of a loop or region the one around it; NULL: none
)
)",
                                    false, false},
                                   {"value", R"(CREATE TABLE value (
  run INTEGER,              -- run.id
  location INTEGER,         -- location.id; NULL: known of all locations together only
  unit INTEGER,             -- unit.id; NULL: known of the whole run of the location only
  node INTEGER,             -- callpath.id
  metric INTEGER,           -- metric.id
  value REAL                -- without what is called; zeros have no row
)
)",
                                    true, false},
                                   {"estimate", R"(CREATE TABLE estimate (
  run INTEGER,              -- run.id
  node INTEGER,             -- callpath.id
  error_s REAL,             -- standard error of its wall time, all locations together; NULL: not known
  inclusive_error_s REAL,   -- the same with all that it calls
  wait_s REAL,              -- NULL: it is not known how long it has waited
  wait_error_s REAL,
  wait_confidence REAL,     -- 0 to 1
  wait_kind TEXT,           -- the pattern that has most of it
  PRIMARY KEY (run, node)
)
)",
                                    false, false},
                                   {"unit", R"(CREATE TABLE unit (
  id INTEGER PRIMARY KEY,
  location INTEGER,         -- location.id
  loop INTEGER,             -- loop.id; NULL: time outside of loops
  cluster INTEGER           -- of iterations that are alike, as in refrain report --clusters
)
)",
                                    false, true},
                                   {"loop", R"(CREATE TABLE loop (
  id INTEGER PRIMARY KEY,
  run INTEGER,              -- run.id
  name TEXT,
  iterations INTEGER        -- of the location that has most
)
)",
                                    false, true},
                                   {"iteration", R"(CREATE TABLE iteration (
  location INTEGER,         -- location.id
  loop INTEGER,             -- loop.id
  number INTEGER,           -- from 0
  unit INTEGER,             -- unit.id of its cluster; NULL: none
  wall_s REAL,
  mpi_s REAL,
  user_s REAL
)
)",
                                    true, true},
                                   {"finding", R"(CREATE TABLE finding (
  id INTEGER PRIMARY KEY,
  run INTEGER,              -- run.id
  rule TEXT,
  share REAL,               -- of the time of all ranks; 0: it costs nothing
  error REAL,               -- standard error of the share; NULL: not known
  part_of INTEGER,          -- finding.id whose cost has this one in it
  ranks TEXT,               -- that have most of it, as '0-3, 7'; NULL: no few of them have
  text TEXT,                -- a sentence
  options TEXT              -- of refrain report, which show more
)
)",
                                    false, false}};

}  // namespace

std::span<const TableRow> tables() { return table_rows; }

const TableRow& table_named(std::string_view name) { return *std::ranges::find(table_rows, name, &TableRow::name); }

std::string schema_text() {
  std::string text;
  for (const TableRow& table : table_rows) {
    text += text.empty() ? "" : "\n";
    text += table.text;
    text.insert(text.size() - 1, ";");
  }
  return text + "\n-- path(id): the names of a call path from the top, as 'main > solve > MPI_Recv'\n";
}

}  // namespace refrain::query
