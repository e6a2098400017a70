#pragma once
/// Experiments in a database: its tables are made from a data model (properties/model.hpp), and Refrain's own ones say
/// which model that is and which rows are of which run:
///
///     refrain_about(name, value)            format, model
///     refrain_runs(run, digest, added)      a run's TestRun, what its experiment is recognised by, when it was added
///     refrain_rows(run, name, first, last)  the ids of the rows that go when the run is removed

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "offline/database/connection.hpp"
#include "offline/properties/model.hpp"

namespace refrain::database {

struct StoredRun {
  std::int64_t run = 0, version_id = 0;
  std::string program, version, experiment, digest, source;
  std::int64_t start_us = 0;
  int processes = 0;
  double elapsed_s = 0;
};

/// Of runs: an empty one means any.
struct RunFilter {
  std::string program, version;
  std::optional<std::int64_t> run;
};

class Store {
 public:
  /// Both must outlive it.
  Store(Connection& connection, const properties::Model& model) : connection_(connection), model_(model) {}

  /// Makes the tables of an empty database. Within a Writing. Throws as check() does.
  void prepare();
  /// Throws DatabaseError when the database has no experiments, or is of another model: with what differs.
  void check();

  /// By program, version, then as they were added.
  std::vector<StoredRun> runs(const RunFilter& filter = {});
  /// The one that was added last. Throws DatabaseError when there is none.
  StoredRun last_run(const RunFilter& filter);
  std::optional<std::int64_t> run_with(const std::string& digest);
  /// Within a Writing. What no other run refers to goes, too.
  void remove(const StoredRun& run);

 private:
  Connection& connection_;
  const properties::Model& model_;
};

/// Appends objects and gives them ids. Within a Writing.
class ObjectTables {
 public:
  ObjectTables(Connection& connection, const properties::Model& model) : connection_(connection), model_(model) {}

  /// Objects of a class, whose attributes come in this order; an owner is `Owner_Attribute`.
  class Of {
   public:
    std::int64_t add(std::initializer_list<Value> values) { return add_row(std::span(values.begin(), values.size())); }
    std::int64_t add_row(std::span<const Value> values);

   private:
    friend class ObjectTables;
    std::string table_;
    std::int64_t first_ = 0, next_ = 0;
    std::vector<Value> row_;
    std::size_t fixed_ = 1;  ///< id, and the class where there is a column of it
    std::unique_ptr<Appender> appender_;
  };
  Of& of(const std::string& name, const std::vector<std::string>& attributes);

  /// Everything is in the database; the rows of tables in `of_run` belong to the run.
  void finish(std::int64_t run, const std::vector<std::string>& of_run);

 private:
  Connection& connection_;
  const properties::Model& model_;
  std::map<std::string, Of> tables_;
};

}  // namespace refrain::database
