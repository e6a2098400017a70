#include "offline/database/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>

namespace refrain::database {
namespace {

using properties::Attribute;
using properties::Model;
using properties::Property;
using properties::quoted_name;
using properties::quoted_text;
using properties::Type;

/// The set attributes that lead from class `of` up to class `owner`: by them an object belongs to an owner. nullopt
/// when there are none.
std::optional<std::vector<const Attribute*>> chain_to(const Model& model, int of, int owner) {
  std::map<int, std::vector<const Attribute*>> chains{{of, {}}};
  std::deque<int> next{of};
  while (!next.empty()) {
    const int at = next.front();
    next.pop_front();
    if (at == owner) return chains[at];
    for (const auto& by : model.classes)
      for (const Attribute& attribute : by.attributes)
        if (attribute.type.is_set && attribute.type.index == at && !chains.contains(attribute.of)) {
          chains[attribute.of] = chains[at];
          chains[attribute.of].push_back(&attribute);
          next.push_back(attribute.of);
        }
  }
  return std::nullopt;
}

/// A condition that the object with id `{}` belongs to the owner.
std::string belongs_to(const Model& model, const std::vector<const Attribute*>& chain, std::int64_t owner) {
  if (chain.empty()) return fmt::format("{{}} = {}", owner);
  std::string owners = fmt::format("= {}", owner);
  for (auto at = chain.rbegin(); at != chain.rend(); ++at)
    owners = fmt::format("IN (SELECT \"id\" FROM {} WHERE {} {})", quoted_name(model.table_of((*at)->type.index)),
                         quoted_name((*at)->column), owners);
  return "{} " + owners;
}

/// The region to whose time severities are relative.
struct Basis {
  std::int64_t id = 0;
  std::string name;
};

Basis basis_of(Connection& connection, const EvaluationRequest& request) {
  const auto find = [&](const std::string& name) {
    Basis basis;
    connection.query(fmt::format("SELECT r.\"id\", r.\"Name\" FROM \"Region\" r JOIN \"Function\" f ON f.\"id\" = "
                                 "r.\"Function_Regions\" JOIN \"TotalTiming\" t ON t.\"Region_TotTimes\" = "
                                 "r.\"id\" AND t.\"Run\" = {} WHERE f.\"ProgVersion_Functions\" = {} {} ORDER BY "
                                 "t.\"Incl\" DESC, r.\"id\" LIMIT 1",
                                 request.run.run, request.run.version_id,
                                 name.empty() ? "" : fmt::format("AND r.\"Name\" = {}", quoted_text(name))),
                     [&](std::span<const Value> row) {
                       basis = {integer_of(row[0]), shown_text_of(row[1])};
                     });
    return basis;
  };
  Basis basis = find(request.basis.empty() ? "main" : request.basis);
  if (basis.id == 0 && request.basis.empty()) basis = find("");
  if (basis.id == 0 && request.basis.empty())
    throw DatabaseError(fmt::format("{}: run {} has no region", connection.name(), request.run.run));
  if (basis.id == 0)
    throw DatabaseError(fmt::format("{}: run {} has no region {}", connection.name(), request.run.run, request.basis));
  return basis;
}

/// The names of objects: their attribute Name where the class has one.
class Names {
 public:
  Names(Connection& connection, const Model& model) : connection_(connection), model_(model) {}

  const std::string& of(int class_index, std::int64_t id) {
    const auto [at, is_new] = known_.try_emplace({class_index, id});
    if (is_new) at->second = find(class_index, id);
    return at->second;
  }

 private:
  std::string find(int class_index, std::int64_t id) {
    const std::string& name = model_.classes[static_cast<std::size_t>(class_index)].name;
    const auto text = [&](const std::string& sql) {
      return shown_text_of(connection_.one(fmt::format("{} = {}", sql, id)));
    };
    if (name == "TestRun") return text("SELECT \"Experiment\" FROM \"TestRun\" WHERE \"id\"");
    if (name == "Location")
      return text(
          "SELECT 'rank ' || CAST(\"Rank\" AS TEXT) || CASE WHEN \"Thread\" > 0 THEN '.' || CAST(\"Thread\" AS TEXT) "
          "ELSE '' END FROM \"Location\" WHERE \"id\"");
    if (name == "FunctionCall")
      return text(
          "SELECT f.\"Name\" || COALESCE(' in ' || r.\"Name\", '') FROM \"FunctionCall\" c JOIN \"Function\" f ON "
          "f.\"id\" = c.\"Callee\" LEFT JOIN \"Region\" r ON r.\"id\" = "
          "c.\"CallingReg\" WHERE c.\"id\"");
    const Attribute* attribute = model_.attribute(class_index, "Name");
    if (attribute != nullptr && attribute->type == Type{Type::String})
      return text(fmt::format("SELECT \"Name\" FROM {} WHERE \"id\"", quoted_name(model_.table_of(class_index))));
    if (const Attribute* number = model_.attribute(class_index, "Number"); number != nullptr)
      return fmt::format("{} {}", name,
                         integer_of(connection_.one(fmt::format("SELECT \"Number\" FROM {} WHERE \"id\" = {}",
                                                                quoted_name(model_.table_of(class_index)), id))));
    return fmt::format("{} {}", name, id);
  }

  Connection& connection_;
  const Model& model_;
  std::map<std::pair<int, std::int64_t>, std::string> known_;
};

/// The objects directly inside each object.
using Inner = std::map<std::int64_t, std::vector<std::int64_t>>;

/// Removes links from an object back to one that contains it, as recursive calls make them, so that none contains
/// itself.
void drop_cycles(Inner& inner) {
  struct Visit {
    std::int64_t id;
    std::size_t next = 0;  ///< index of the next object inside
  };
  std::map<std::int64_t, bool> is_open;  // by visited object: the objects inside are being visited
  for (const auto& [first, unused] : inner) {
    if (!is_open.try_emplace(first, true).second) continue;
    for (std::vector<Visit> stack{{first}}; !stack.empty();) {
      Visit& visit = stack.back();
      const auto inside = inner.find(visit.id);
      if (inside == inner.end() || visit.next == inside->second.size()) {
        is_open[visit.id] = false;
        stack.pop_back();
        continue;
      }
      const std::int64_t to = inside->second[visit.next];
      const auto [at, is_new] = is_open.try_emplace(to, true);
      if (!is_new && at->second) {
        inside->second.erase(inside->second.begin() + static_cast<std::ptrdiff_t>(visit.next));
        continue;
      }
      ++visit.next;
      if (is_new) stack.push_back({to});
    }
  }
}

/// Regions contain others by marks and by calls.
Inner inner_regions(Connection& connection, std::int64_t version) {
  Inner inner;
  const auto add = [&](std::span<const Value> row) { inner[integer_of(row[0])].push_back(integer_of(row[1])); };
  connection.query(
      fmt::format("SELECT r.\"ParentRegion\", r.\"id\" FROM \"Region\" r JOIN \"Function\" f ON f.\"id\" = "
                  "r.\"Function_Regions\" WHERE f.\"ProgVersion_Functions\" = {} AND r.\"ParentRegion\" IS NOT NULL "
                  "ORDER BY 1, 2",
                  version),
      add);
  connection.query(
      fmt::format("SELECT c.\"CallingReg\", r.\"id\" FROM \"FunctionCall\" c JOIN \"Function\" f ON f.\"id\" = "
                  "c.\"Callee\" JOIN \"Region\" r ON r.\"Function_Regions\" = f.\"id\" AND r.\"ParentRegion\" IS NULL "
                  "WHERE f.\"ProgVersion_Functions\" = {} AND c.\"CallingReg\" IS NOT NULL ORDER BY 1, 2",
                  version),
      add);
  drop_cycles(inner);
  return inner;
}

Inner inner_paths(Connection& connection, std::int64_t version) {
  Inner inner;
  connection.query(fmt::format("SELECT \"Parent\", \"id\" FROM \"CallPath\" WHERE \"ProgVersion_CallPaths\" = {} AND "
                               "\"Parent\" IS NOT NULL",
                               version),
                   [&](std::span<const Value> row) { inner[integer_of(row[0])].push_back(integer_of(row[1])); });
  return inner;
}

/// A context in which a property holds: ids by parameter.
struct Row {
  std::vector<std::int64_t> context;
  double confidence, severity;
};

/// Finds rows whose severity is nearly that of the rows directly inside.
class Nesting {
 public:
  Nesting(Connection& connection, const Model& model, std::int64_t version)
      : connection_(connection),
        version_(version),
        region_(model.class_named("Region")),
        path_(model.class_named("CallPath")) {}

  /// Whether each row is such. Contexts are nested if the property has exactly one region, besides the basis, or call
  /// path.
  std::vector<bool> outer_of(const Property& property, const std::vector<Row>& rows) {
    constexpr double nearly_all = 0.85;
    std::vector<bool> outer(rows.size());
    std::optional<std::size_t> nested;
    for (std::size_t i = 0; i < property.parameters.size(); ++i) {
      const auto& variable = property.parameters[i].variable;
      const bool is_basis = variable.type.index == region_ && variable.name == "Basis";
      if (is_basis || (variable.type.index != region_ && variable.type.index != path_)) continue;
      if (nested) return outer;
      nested = i;
    }
    if (!nested || rows.empty()) return outer;
    const Inner& inner = inner_of(property.parameters[*nested].variable.type.index);
    std::map<std::vector<std::int64_t>, double> severities;
    for (const Row& row : rows) severities[row.context] = row.severity;
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const auto inside = inner.find(rows[n].context[*nested]);
      if (inside == inner.end()) continue;
      std::vector<std::int64_t> context = rows[n].context;
      double severity = 0;
      for (const std::int64_t id : inside->second) {
        context[*nested] = id;
        if (const auto at = severities.find(context); at != severities.end()) severity += at->second;
      }
      outer[n] = severity > 0 && severity >= nearly_all * rows[n].severity;
    }
    return outer;
  }

 private:
  const Inner& inner_of(int class_index) {
    const auto [at, is_new] = known_.try_emplace(class_index);
    if (is_new)
      at->second = class_index == path_ ? inner_paths(connection_, version_) : inner_regions(connection_, version_);
    return at->second;
  }

  Connection& connection_;
  const std::int64_t version_;
  const int region_, path_;
  std::map<int, Inner> known_;
};

/// Why nothing was found: a class without objects. Empty when every class has some.
std::string missing_objects(Connection& connection, const Property& property, const Model& model,
                            const properties::Contexts& contexts) {
  for (const properties::Parameter& parameter : property.parameters) {
    const auto restricted = contexts.find(parameter.variable.name);
    std::string condition = restricted == contexts.end() ? "TRUE" : restricted->second;
    for (std::size_t at = 0; (at = condition.find("{}", at)) != condition.npos; at += 4)
      condition.replace(at, 2, "\"id\"");
    const int of = parameter.variable.type.index;
    if (std::holds_alternative<std::monostate>(connection.one(
            fmt::format("SELECT 1 FROM {} WHERE {} LIMIT 1", quoted_name(model.table_of(of)), condition))))
      return fmt::format("the run has no {}", model.classes[static_cast<std::size_t>(of)].name);
  }
  return {};
}

}  // namespace

std::vector<std::string> objects_of(const Found& found, const Evaluation& evaluation) {
  std::vector<std::string> objects;
  for (const auto& [parameter, object] : found.context)
    if (parameter != "Basis" && object != evaluation.run.experiment) objects.push_back(object);
  return objects;
}

std::string context_text(const Found& found, const Evaluation& evaluation) {
  const std::vector<std::string> objects = objects_of(found, evaluation);
  return objects.empty() ? "the run" : fmt::format("{}", fmt::join(objects, ", "));
}

const Found* bottleneck_of(const Evaluation& evaluation) {
  constexpr double least = 0.5, least_confidence = 0.5;
  const auto is_more_than_a_hint = [](const Found& found) { return found.confidence >= least_confidence; };
  const auto first = std::ranges::find_if(evaluation.found, is_more_than_a_hint);
  if (first == evaluation.found.end() || !(first->severity > 0)) return nullptr;
  const Found* most = &*first;
  const auto is_elsewhere = [&](const Found& other) {
    for (const auto& [parameter, object] : most->context)
      for (const auto& [same, there] : other.context)
        if (parameter == same && object != there) return true;
    return false;
  };
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    // Findings are in the order of their severities.
    for (const Found& other : evaluation.found)
      if (other.property->refines == most->property->name && other.severity >= least * most->severity &&
          is_more_than_a_hint(other) && !is_elsewhere(other)) {
        most = &other;
        has_moved = true;
        break;
      }
  }
  return most;
}

properties::Contexts contexts_of(const Property& property, const Model& model, const StoredRun& run,
                                 std::int64_t basis) {
  properties::Contexts contexts;
  const int test_run = model.class_named("TestRun"), version = model.class_named("ProgVersion"),
            region = model.class_named("Region");
  bool has_run = false;
  for (const properties::Parameter& parameter : property.parameters) {
    const auto& [id, name, type] = parameter.variable;
    if (type.index == test_run && !has_run) {
      has_run = true;
      contexts[name] = fmt::format("{{}} = {}", run.run);
    } else if (type.index == test_run) {
      contexts[name] = fmt::format(
          "{{}} IN (SELECT t.\"id\" FROM \"TestRun\" t JOIN \"ProgVersion\" v ON v.\"id\" = t.\"ProgVersion_Runs\" "
          "WHERE v.\"Program_Versions\" = (SELECT \"Program_Versions\" FROM "
          "\"ProgVersion\" WHERE \"id\" = {}))",
          run.version_id);
    } else if (type.index == region && name == "Basis") {
      contexts[name] = fmt::format("{{}} = {}", basis);
    } else if (parameter.set == nullptr) {
      if (const auto chain = chain_to(model, type.index, test_run)) contexts[name] = belongs_to(model, *chain, run.run);
      else if (const auto other = chain_to(model, type.index, version))
        contexts[name] = belongs_to(model, *other, run.version_id);
    }
  }
  return contexts;
}

Evaluation evaluate(Connection& connection, const properties::Program& program, const EvaluationRequest& request) {
  const Model& model = *program.model;
  const Basis basis = basis_of(connection, request);
  Evaluation evaluation{request.run, basis.name, {}, {}};
  Names names(connection, model);
  std::vector<const Property*> wanted;
  for (const Property& property : program.properties)
    if (request.only.empty() || std::ranges::find(request.only, property.name) != request.only.end())
      wanted.push_back(&property);
  Nesting nesting(connection, model, request.run.version_id);
  for (std::size_t done = 0; done < wanted.size(); ++done) {
    const Property& property = *wanted[done];
    const properties::Contexts contexts = contexts_of(property, model, request.run, basis.id);
    std::vector<Row> rows;
    std::size_t unknown = 0;
    try {
      const std::size_t parameters = property.parameters.size(), conditions = property.conditions.size();
      connection.query(property_statement(property, model, connection.dialect(), contexts),
                       [&](std::span<const Value> row) {
                         const double confidence = real_of(row[parameters + conditions]),
                                      severity = real_of(row[parameters + conditions + 1]);
                         if (!std::isfinite(severity) || std::isnan(confidence)) {
                           ++unknown;
                           return;
                         }
                         Row& kept = rows.emplace_back(Row{{}, confidence, severity});
                         for (std::size_t i = 0; i < parameters; ++i) kept.context.push_back(integer_of(row[i]));
                       });
    } catch (const DatabaseError& error) {
      evaluation.not_evaluated.push_back({property.name, error.what()});
      continue;
    }
    if (unknown > 0)
      evaluation.not_evaluated.push_back(
          {property.name, fmt::format("its severity is not known in {} context{} in which it holds", unknown,
                                      unknown == 1 ? "" : "s")});
    if (rows.empty() && unknown == 0)
      if (std::string why = missing_objects(connection, property, model, contexts); !why.empty())
        evaluation.not_evaluated.push_back({property.name, std::move(why)});
    const std::vector<bool> outer = nesting.outer_of(property, rows);
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const Row& row = rows[n];
      Found& found = evaluation.found.emplace_back(Found{&property, {}, row.severity, row.confidence, outer[n]});
      for (std::size_t i = 0; i < row.context.size(); ++i)
        found.context.emplace_back(property.parameters[i].variable.name,
                                   names.of(property.parameters[i].variable.type.index, row.context[i]));
    }
    request.progress(done + 1, wanted.size());
  }
  std::ranges::stable_sort(evaluation.found, std::ranges::greater(), &Found::severity);
  return evaluation;
}

}  // namespace refrain::database
