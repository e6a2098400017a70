#pragma once
/// Experiments in a database. Its tables are made from a data model (properties/model.hpp); Refrain's own tables say
/// which model that is, and which rows belong to which run:
///
///     refrain_about(name, value)            format, model
///     refrain_runs(run, digest, added)      a run's TestRun, the digest of its experiment, when it was added
///     refrain_rows(run, name, first, last)  the ids of the rows that are removed with the run

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

/// Selects runs: an empty member matches any.
struct RunFilter {
  std::string program, version;
  std::optional<std::int64_t> run;
};

class Store {
 public:
  /// Both must outlive the store.
  Store(Connection& connection, const properties::Model& model) : connection_(connection), model_(model) {}

  /// Creates the tables of an empty database. Called within a Writing. Throws as check() does.
  void prepare();
  /// Throws DatabaseError when the database has no experiments, or has another data model; the message says what
  /// differs.
  void check();

  /// Ordered by program, then version, then as they were added.
  std::vector<StoredRun> runs(const RunFilter& filter = {});
  /// The run that was added last. Throws DatabaseError when there is none.
  StoredRun last_run(const RunFilter& filter);
  std::optional<std::int64_t> run_with(const std::string& digest);
  /// Called within a Writing. Also removes what no other run refers to.
  void remove(const StoredRun& run);

 private:
  Connection& connection_;
  const properties::Model& model_;
};

/// Appends objects and assigns their ids. Used within a Writing.
class ObjectTables {
 public:
  ObjectTables(Connection& connection, const properties::Model& model) : connection_(connection), model_(model) {}

  /// Objects of a class. Values are in the order of the attributes given to of(); an owner is `Owner_Attribute`.
  class Of {
   public:
    std::int64_t add(std::initializer_list<Value> values) { return add_row(std::span(values.begin(), values.size())); }
    std::int64_t add_row(std::span<const Value> values);

   private:
    friend class ObjectTables;
    std::string table_;
    std::int64_t first_ = 0, next_ = 0;
    std::vector<Value> row_;
    std::size_t fixed_ = 1;  ///< columns before the attributes: id, and class if there is one
    std::unique_ptr<Appender> appender_;
  };
  Of& of(const std::string& name, const std::vector<std::string>& attributes);

  /// Writes everything to the database. The rows of tables in `of_run` belong to the run.
  void finish(std::int64_t run, const std::vector<std::string>& of_run);

 private:
  Connection& connection_;
  const properties::Model& model_;
  std::map<std::string, Of> tables_;
};

}  // namespace refrain::database
