#include "offline/properties/sql.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <stdexcept>

namespace refrain::properties {
namespace {

using syntax::Aggregate;
using Kind = Expression::Kind;

constexpr const char* real_type = "DOUBLE PRECISION";  // both dialects have it

std::string real_text(double value) { return fmt::format("CAST({:.17g} AS {})", value, real_type); }

std::string index_name(const Table& table, std::size_t number) {
  return fmt::format("{}_by_{}", table.name, number + 1);
}

/// The object that an expression denotes: a row of a table in scope, or an id.
struct Reference {
  std::string row;    ///< alias; empty: none is in scope
  std::string value;  ///< SQL of the id, or of a value
};

/// A set in SQL: tables with conditions; the member is in one of the tables.
struct From {
  std::vector<std::string> tables;  ///< `"T" v7`
  std::vector<std::string> conditions;
};

class Writer {
 public:
  Writer(const Model& model, Dialect dialect) : model_(model), dialect_(dialect) {}

  void bind(const Variable& variable, Reference reference) { references_[variable.id] = std::move(reference); }

  /// A value in SQL; for an object its id.
  std::string value(const Expression& of) {
    switch (of.kind) {
      case Kind::Constant: return constant(of);
      case Kind::Variable: return references_.at(static_cast<int>(of.integer)).value;
      case Kind::Attribute: return attribute(of);
      case Kind::Unique: return unique(*of.parts[0], nullptr);
      case Kind::Aggregate: return aggregate(of);
      case Kind::Exists: return quantifier(of, "EXISTS", "");
      case Kind::ForAll: return quantifier(of, "NOT EXISTS", " IS NOT TRUE");
      case Kind::Extremum: return extremum(of);
      case Kind::Negate: return fmt::format("(- {})", real(*of.parts[0]));
      case Kind::Add: return arithmetic(of, "+");
      case Kind::Subtract:
        if (of.parts[0]->type.kind == Type::DateTime)
          return fmt::format("(CAST({} - {} AS {}) / {})", value(*of.parts[0]), value(*of.parts[1]), real_type,
                             real_text(1e6));
        return arithmetic(of, "-");
      case Kind::Multiply: return arithmetic(of, "*");
      case Kind::Divide:
        return fmt::format("({} / NULLIF({}, {}))", real(*of.parts[0]), real(*of.parts[1]), real_text(0));
      case Kind::Equal: return comparison(of, "=");
      case Kind::Unequal: return comparison(of, "<>");
      case Kind::Less: return comparison(of, "<");
      case Kind::AtMost: return comparison(of, "<=");
      case Kind::And: return fmt::format("({} AND {})", value(*of.parts[0]), value(*of.parts[1]));
      case Kind::Or: return fmt::format("({} OR {})", value(*of.parts[0]), value(*of.parts[1]));
      case Kind::Not: return fmt::format("(NOT {})", value(*of.parts[0]));
      case Kind::Extent:
      case Kind::Comprehension: break;
    }
    throw std::logic_error("a set where a value is expected");
  }

  /// A number in SQL, as a float.
  std::string real(const Expression& of) {
    if (of.kind == Kind::Constant)
      return real_text(of.type.kind == Type::Float ? of.real : static_cast<double>(of.integer));
    std::string sql = value(of);
    const bool is_real = of.type.kind == Type::Float || of.kind == Kind::Add || of.kind == Kind::Subtract ||
                         of.kind == Kind::Multiply || of.kind == Kind::Negate;
    return is_real ? sql : fmt::format("CAST({} AS {})", sql, real_type);
  }

  /// Adds the set that `variable` ranges over to `into`; the variable is bound to the member's row.
  void from(const Expression& set, const Variable& variable, From& into) {
    if (set.kind == Kind::Comprehension) {
      // The member is that of the inner set.
      const Binding& inner = set.bindings[0];
      from(*inner.set, variable, into);
      bind(inner.variable, references_.at(variable.id));
      if (!set.parts.empty()) into.conditions.push_back(value(*set.parts[0]));
      return;
    }
    const std::string row = fmt::format("v{}", ++rows_);
    into.tables.push_back(fmt::format("{} {}", quoted_name(model_.table_of(set.type.index)), row));
    bind(variable, {row, row + ".\"id\""});
    if (set.kind == Kind::Attribute) {
      into.conditions.push_back(
          fmt::format("{}.{} = {}", row, quoted_name(set.attribute->column), value(*set.parts[0])));
    } else if (set.kind == Kind::Extent) {
      if (auto condition = class_condition(row, set.type.index); !condition.empty())
        into.conditions.push_back(std::move(condition));
    } else {
      throw std::logic_error("not a set");
    }
  }

  /// A condition for rows of class `of`; empty when all rows of the table are of that class.
  std::string class_condition(const std::string& row, int of) const {
    if (model_.classes[of].base < 0) return {};
    std::vector<int> classes;
    for (int i = 0; i < static_cast<int>(model_.classes.size()); ++i)
      if (model_.is_a(i, of)) classes.push_back(i);
    return fmt::format("{}.\"class\" IN ({})", row, fmt::join(classes, ", "));
  }

  static std::string text_of(const From& from) {
    std::string sql = fmt::format("FROM {}", fmt::join(from.tables, " CROSS JOIN "));
    if (!from.conditions.empty()) sql += fmt::format(" WHERE {}", fmt::join(from.conditions, " AND "));
    return sql;
  }

 private:
  std::string constant(const Expression& of) const {
    switch (of.type.kind) {
      case Type::Float: return real_text(of.real);
      case Type::String:
        return dialect_ == Dialect::Sqlite ? quoted_text(of.text)
                                           : fmt::format("({} COLLATE \"C\")", quoted_text(of.text));
      case Type::Bool: return of.integer != 0 ? "TRUE" : "FALSE";
      default: return fmt::format("CAST({} AS BIGINT)", of.integer);
    }
  }

  std::string attribute(const Expression& of) {
    const Expression& object = *of.parts[0];
    const std::string column = quoted_name(of.attribute->column);
    if (object.kind == Kind::Variable) {
      const Reference& reference = references_.at(static_cast<int>(object.integer));
      if (!reference.row.empty()) return fmt::format("{}.{}", reference.row, column);
    }
    // PostgreSQL has no MIN of booleans.
    if (object.kind == Kind::Unique && of.type.kind != Type::Bool) return unique(*object.parts[0], of.attribute);
    const std::string row = fmt::format("v{}", ++rows_);
    return fmt::format("(SELECT {0}.{1} FROM {2} {0} WHERE {0}.\"id\" = {3})", row, column,
                       quoted_name(model_.table_of(object.type.index)), value(object));
  }

  /// The id of the only member of a set, or its attribute. The aggregate has a query of its own, because SQLite and
  /// PostgreSQL take an aggregate over columns of an outer query for one of that query.
  std::string unique(const Expression& set, const Attribute* attribute) {
    const Variable member{--unnamed_, {}, {}};
    From members;
    from(set, member, members);
    const std::string column = attribute == nullptr ? "\"id\"" : quoted_name(attribute->column);
    const std::string row = references_.at(member.id).row;
    const std::string query = fmt::format("u{}", ++rows_);
    return fmt::format("(SELECT CASE WHEN COUNT(*) = 1 THEN MIN({0}.x) END FROM (SELECT {1}.{2} AS x {3}) {0})", query,
                       row, column, text_of(members));
  }

  std::string aggregate(const Expression& of) {
    From members;
    for (const Binding& binding : of.bindings) from(*binding.set, binding.variable, members);
    if (of.parts.size() > 1) members.conditions.push_back(value(*of.parts[1]));
    const bool keeps_type = of.aggregate == Aggregate::Min || of.aggregate == Aggregate::Max;
    const Expression& each = *of.parts[0];
    const std::string x =
        each.type.is_number() && of.aggregate != Aggregate::Count && !(keeps_type && each.type.kind == Type::Int)
            ? real(each)
            : value(each);
    const std::string query = fmt::format("u{}", ++rows_);
    const auto over = [&](const std::string& result) {
      return fmt::format("(SELECT {} FROM (SELECT {} AS x {}) {})", result, x, text_of(members), query);
    };
    switch (of.aggregate) {
      case Aggregate::Sum: return over(fmt::format("COALESCE(SUM({}.x), {})", query, real_text(0)));
      case Aggregate::Min: return over(fmt::format("MIN({}.x)", query));
      case Aggregate::Max: return over(fmt::format("MAX({}.x)", query));
      case Aggregate::Avg: return over(fmt::format("SUM({0}.x) / COUNT({0}.x)", query));
      case Aggregate::Count: return over(fmt::format("COUNT({}.x)", query));
      case Aggregate::Stdev: {
        const std::string mean = fmt::format("(SUM({0}.x) / COUNT({0}.x))", query);
        const std::string variance = fmt::format("(SUM({0}.x * {0}.x) / COUNT({0}.x) - {1} * {1})", query, mean);
        return over(fmt::format("CASE WHEN {0} > 0 THEN SQRT({0}) WHEN COUNT({1}.x) > 0 THEN {2} END", variance, query,
                                real_text(0)));
      }
    }
    return {};
  }

  std::string quantifier(const Expression& of, const char* exists, const char* suffix) {
    From members;
    from(*of.bindings[0].set, of.bindings[0].variable, members);
    if (!of.parts.empty()) members.conditions.push_back(value(*of.parts[0]) + suffix);
    return fmt::format("{} (SELECT 1 {})", exists, text_of(members));
  }

  std::string extremum(const Expression& of) {
    std::vector<std::string> selects;
    for (const ExpressionPtr& part : of.parts)
      selects.push_back(fmt::format("SELECT {} AS x", of.type.is_number() ? real(*part) : value(*part)));
    const std::string query = fmt::format("u{}", ++rows_);
    return fmt::format("(SELECT {}({}.x) FROM ({}) {})", of.aggregate == Aggregate::Min ? "MIN" : "MAX", query,
                       fmt::join(selects, " UNION ALL "), query);
  }

  std::string arithmetic(const Expression& of, const char* operation) {
    return fmt::format("({} {} {})", real(*of.parts[0]), operation, real(*of.parts[1]));
  }

  std::string comparison(const Expression& of, const char* operation) {
    const Expression &a = *of.parts[0], &b = *of.parts[1];
    // Two integers are compared as integers.
    const bool as_real = a.type.is_number() && (a.type.kind == Type::Float || b.type.kind == Type::Float);
    return fmt::format("({} {} {})", as_real ? real(a) : value(a), operation, as_real ? real(b) : value(b));
  }

  const Model& model_;
  const Dialect dialect_;
  std::map<int, Reference> references_;
  int rows_ = 0, unnamed_ = -1;
};

/// Names of columns that remain distinct in a case-insensitive database.
class Names {
 public:
  std::string fresh(const std::string& wanted) {
    for (int n = 1;; ++n) {
      std::string name = n == 1 ? wanted : fmt::format("{}_{}", wanted, n);
      std::string word = name;
      std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
      if (taken_.insert(word).second) return name;
    }
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string quoted_text(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\0') continue;
    if (c == '\'') result += '\'';
    result += c;
  }
  return result + '\'';
}

const char* column_type(const Type& type, Dialect dialect) {
  const bool postgresql = dialect == Dialect::Postgresql;
  switch (type.kind) {
    case Type::Float: return real_type;
    case Type::Bool: return "BOOLEAN";
    case Type::String: return postgresql ? "TEXT COLLATE \"C\"" : "TEXT";
    case Type::Enumeration: return "INTEGER";
    case Type::Int:
    case Type::DateTime:
    case Type::Object: return "BIGINT";
  }
  return "";
}

std::vector<std::string> table_statements(const Model& model, Dialect dialect) {
  std::vector<std::string> statements;
  for (const Table& table : model.tables()) {
    // In SQLite this type makes the key the rowid.
    std::vector<std::string> columns{dialect == Dialect::Sqlite ? "\"id\" INTEGER PRIMARY KEY"
                                                                : "\"id\" BIGINT PRIMARY KEY"};
    if (table.has_class) columns.emplace_back("\"class\" INTEGER NOT NULL");
    for (const Column& column : table.columns)
      columns.push_back(fmt::format("{} {}", quoted_name(column.name), column_type(column.type, dialect)));
    statements.push_back(fmt::format("CREATE TABLE {} (\n  {})", quoted_name(table.name), fmt::join(columns, ",\n  ")));
  }
  return statements;
}

std::vector<std::string> index_statements(const Model& model) {
  std::vector<std::string> statements;
  for (const Table& table : model.tables())
    for (std::size_t i = 0; i < table.indices.size(); ++i) {
      std::vector<std::string> columns;
      for (const std::string& column : table.indices[i]) columns.push_back(quoted_name(column));
      statements.push_back(fmt::format("CREATE INDEX {} ON {} ({})", quoted_name(index_name(table, i)),
                                       quoted_name(table.name), fmt::join(columns, ", ")));
    }
  return statements;
}

std::string property_statement(const Property& property, const Model& model, Dialect dialect,
                               const Contexts& contexts) {
  Writer writer(model, dialect);
  Names names;
  From from;
  std::vector<std::string> context_columns, parameter_names;
  for (const Parameter& parameter : property.parameters) {
    const Variable& variable = parameter.variable;
    Expression extent{Expression::Kind::Extent, {Type::Object, variable.type.index, true}};
    const Expression& set = parameter.set ? *parameter.set : extent;
    writer.from(set, variable, from);
    const std::string id = writer.value(Expression{Expression::Kind::Variable, variable.type, variable.id});
    if (const auto restricted = contexts.find(variable.name); restricted != contexts.end()) {
      std::string condition = restricted->second;
      for (std::size_t at = 0; (at = condition.find("{}", at)) != condition.npos; at += id.size())
        condition.replace(at, 2, id);
      from.conditions.push_back(std::move(condition));
    }
    // A set of objects of a class holds those of the classes that extend it, too, and an attribute may be of one of
    // these.
    if (parameter.condition) from.conditions.push_back(writer.value(*parameter.condition));
    parameter_names.push_back(quoted_name(names.fresh(variable.name)));
    context_columns.push_back(fmt::format("{} AS {}", id, parameter_names.back()));
  }
  std::string sql = fmt::format("WITH step0 AS MATERIALIZED (\n  SELECT {}\n  {})", fmt::join(context_columns, ", "),
                                Writer::text_of(from));
  for (std::size_t i = 0; i < property.parameters.size(); ++i)
    writer.bind(property.parameters[i].variable, {{}, "s." + parameter_names[i]});

  // Definitions are computed once for each context, hence MATERIALIZED.
  int step = 0;
  const auto add_step = [&](const std::string& columns) {
    sql += fmt::format(",\nstep{} AS MATERIALIZED (\n  SELECT s.*, {}\n  FROM step{} s)", step + 1, columns, step);
    ++step;
  };
  for (const Definition& definition : property.definitions) {
    const std::string name = quoted_name(names.fresh(definition.variable.name));
    const bool as_real = definition.variable.type.kind == Type::Float && !definition.variable.type.is_set;
    add_step(fmt::format("{} AS {}", as_real ? writer.real(*definition.value) : writer.value(*definition.value), name));
    writer.bind(definition.variable, {{}, "s." + name});
  }
  std::vector<std::string> condition_columns, condition_names, result = parameter_names;
  for (const Condition& condition : property.conditions) {
    condition_names.push_back(quoted_name(names.fresh(condition.id.empty() ? "condition" : condition.id)));
    condition_columns.push_back(fmt::format("{} AS {}", writer.value(*condition.value), condition_names.back()));
    result.push_back(fmt::format("CASE WHEN s.{0} THEN 1 WHEN NOT s.{0} THEN 0 END AS {0}", condition_names.back()));
  }
  add_step(fmt::format("{}", fmt::join(condition_columns, ", ")));
  const auto largest = [&](const std::vector<Guarded>& entries) {
    std::vector<std::string> selects;
    for (const Guarded& entry : entries)
      selects.push_back(fmt::format("SELECT {} AS x{}", writer.real(*entry.value),
                                    entry.guard < 0 ? "" : fmt::format(" WHERE s.{}", condition_names[entry.guard])));
    return fmt::format("(SELECT MAX(m.x) FROM ({}) m)", fmt::join(selects, " UNION ALL "));
  };
  const std::string confidence = quoted_name(names.fresh("confidence")),
                    severity = quoted_name(names.fresh("severity"));
  std::vector<std::string> holds;
  for (const std::string& name : condition_names) holds.push_back("s." + name);
  sql += fmt::format(",\nholds AS MATERIALIZED (\n  SELECT s.*, {} AS {}, {} AS {}\n  FROM step{} s WHERE {})",
                     largest(property.confidence), confidence, largest(property.severity), severity, step,
                     fmt::join(holds, " OR "));
  result.push_back(fmt::format("CASE WHEN s.{0} < 0 THEN {1} WHEN s.{0} > 1 THEN {2} ELSE s.{0} END AS {0}", confidence,
                               real_text(0), real_text(1)));
  result.push_back(fmt::format("s.{} AS {}", severity, severity));
  std::vector<std::string> order;
  for (const std::string& name : parameter_names) order.push_back("s." + name);
  return sql + fmt::format("\nSELECT {}\nFROM holds s\nORDER BY s.{} DESC NULLS LAST, {}", fmt::join(result, ", "),
                           severity, fmt::join(order, ", "));
}

}  // namespace refrain::properties
