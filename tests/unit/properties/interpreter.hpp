#pragma once
/// Evaluates properties as their definition says it (offline/properties/program.hpp), slowly: what statements are
/// compared with.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "offline/properties/program.hpp"

namespace refrain::properties::test {

/// Nothing: missing. Objects, enumerators, dates and truth values are integers.
using Datum = std::variant<std::monostate, std::int64_t, double, std::string>;

struct Object {
  std::int64_t id = 0;
  int of = 0;                           ///< class
  std::map<std::string, Datum> values;  ///< by column, owners among them
};

/// By the class at the root.
using World = std::map<int, std::vector<Object>>;

inline bool is_missing(const Datum& datum) { return std::holds_alternative<std::monostate>(datum); }
inline double number(const Datum& datum) {
  return std::holds_alternative<double>(datum) ? std::get<double>(datum)
                                               : static_cast<double>(std::get<std::int64_t>(datum));
}

class Interpreter {
 public:
  Interpreter(const Model& model, const World& world) : model_(model), world_(world) {}

  struct Row {
    std::vector<std::int64_t> context;
    std::vector<int> conditions;  ///< -1: missing
    std::optional<double> confidence, severity;
    auto operator<=>(const Row&) const = default;
  };

  std::vector<Row> evaluate(const Property& property) {
    std::vector<Row> rows;
    contexts(property, 0, rows);
    return rows;
  }

 private:
  using Kind = Expression::Kind;

  void contexts(const Property& property, std::size_t place, std::vector<Row>& rows) {
    if (place == property.parameters.size()) return in_context(property, rows);
    const Parameter& parameter = property.parameters[place];
    std::vector<std::int64_t> members;
    if (parameter.set) members = set(*parameter.set);
    else
      for (const Object& object : world_.at(model_.root_of(parameter.variable.type.index)))
        if (model_.is_a(object.of, parameter.variable.type.index)) members.push_back(object.id);
    for (const std::int64_t member : members) {
      values_[parameter.variable.id] = member;
      if (!parameter.condition || holds(*parameter.condition)) contexts(property, place + 1, rows);
    }
  }

  void in_context(const Property& property, std::vector<Row>& rows) {
    for (const Definition& definition : property.definitions)
      values_[definition.variable.id] = value(*definition.value);
    Row row;
    for (const Parameter& parameter : property.parameters)
      row.context.push_back(std::get<std::int64_t>(values_[parameter.variable.id]));
    bool any = false;
    for (const Condition& condition : property.conditions) {
      const Datum datum = value(*condition.value);
      row.conditions.push_back(is_missing(datum) ? -1 : std::get<std::int64_t>(datum) != 0);
      any = any || row.conditions.back() == 1;
    }
    if (!any) return;
    const auto largest = [&](const std::vector<Guarded>& entries) {
      std::optional<double> most;
      for (const Guarded& entry : entries) {
        if (entry.guard >= 0 && row.conditions[static_cast<std::size_t>(entry.guard)] != 1) continue;
        const Datum datum = value(*entry.value);
        if (!is_missing(datum) && (!most || number(datum) > *most)) most = number(datum);
      }
      return most;
    };
    row.confidence = largest(property.confidence);
    if (row.confidence) row.confidence = std::clamp(*row.confidence, 0.0, 1.0);
    row.severity = largest(property.severity);
    rows.push_back(std::move(row));
  }

  const Object* object(int of, const Datum& id) const {
    if (is_missing(id)) return nullptr;
    for (const Object& one : world_.at(model_.root_of(of)))
      if (one.id == std::get<std::int64_t>(id)) return &one;
    return nullptr;
  }

  bool holds(const Expression& condition) {
    const Datum datum = value(condition);
    return !is_missing(datum) && std::get<std::int64_t>(datum) != 0;
  }

  std::vector<std::int64_t> set(const Expression& of) {
    std::vector<std::int64_t> members;
    if (of.kind == Kind::Comprehension) {
      for (const std::int64_t member : set(*of.bindings[0].set)) {
        values_[of.bindings[0].variable.id] = member;
        if (of.parts.empty() || holds(*of.parts[0])) members.push_back(member);
      }
      return members;
    }
    const Datum owner = of.kind == Kind::Attribute ? value(*of.parts[0]) : Datum();
    for (const Object& one : world_.at(model_.root_of(of.type.index))) {
      if (of.kind == Kind::Extent ? model_.is_a(one.of, of.type.index)
                                  : !is_missing(owner) && one.values.at(of.attribute->column) == owner)
        members.push_back(one.id);
    }
    return members;
  }

  void for_each(const std::vector<Binding>& bindings, std::size_t place, const std::function<void()>& use) {
    if (place == bindings.size()) return use();
    for (const std::int64_t member : set(*bindings[place].set)) {
      values_[bindings[place].variable.id] = member;
      for_each(bindings, place + 1, use);
    }
  }

  Datum aggregate(const Expression& of) {
    std::vector<Datum> all;
    for_each(of.bindings, 0, [&] {
      if (of.parts.size() > 1 && !holds(*of.parts[1])) return;
      if (Datum datum = value(*of.parts[0]); !is_missing(datum)) all.push_back(std::move(datum));
    });
    using syntax::Aggregate;
    if (of.aggregate == Aggregate::Count) return static_cast<std::int64_t>(all.size());
    double sum = 0, squares = 0;
    if (of.aggregate == Aggregate::Min || of.aggregate == Aggregate::Max)
      return extreme(all, of.aggregate == Aggregate::Max);
    for (const Datum& datum : all) {
      sum += number(datum);
      squares += number(datum) * number(datum);
    }
    if (of.aggregate == Aggregate::Sum) return sum;
    if (all.empty()) return {};
    const auto n = static_cast<double>(all.size());
    if (of.aggregate == Aggregate::Avg) return sum / n;
    const double variance = squares / n - (sum / n) * (sum / n);
    return variance > 0 ? std::sqrt(variance) : 0.0;
  }

  static Datum extreme(const std::vector<Datum>& all, bool largest) {
    const Datum* best = nullptr;
    for (const Datum& datum : all) {
      if (is_missing(datum)) continue;
      if (best == nullptr || (largest ? less(*best, datum) : less(datum, *best))) best = &datum;
    }
    return best == nullptr ? Datum() : *best;
  }

  static bool less(const Datum& a, const Datum& b) {
    if (const auto* text = std::get_if<std::string>(&a)) return *text < std::get<std::string>(b);
    return number(a) < number(b);
  }

  Datum value(const Expression& of) {
    const auto truth = [](bool is_true) -> Datum { return std::int64_t{is_true}; };
    switch (of.kind) {
      case Kind::Constant:
        if (of.type.kind == Type::Float) return of.real;
        if (of.type.kind == Type::String) return of.text;
        return of.integer;
      case Kind::Variable: return values_.at(static_cast<int>(of.integer));
      case Kind::Attribute: {
        const Object* owner = object(of.parts[0]->type.index, value(*of.parts[0]));
        return owner == nullptr ? Datum() : owner->values.at(of.attribute->column);
      }
      case Kind::Unique: {
        const auto members = set(*of.parts[0]);
        return members.size() == 1 ? Datum(members[0]) : Datum();
      }
      case Kind::Aggregate: return aggregate(of);
      case Kind::Exists:
      case Kind::ForAll: {
        bool any = false, all = true;
        for_each(of.bindings, 0, [&] {
          const bool here = of.parts.empty() || holds(*of.parts[0]);
          any = any || here;
          all = all && here;
        });
        return truth(of.kind == Kind::Exists ? any : all);
      }
      case Kind::Extremum: {
        std::vector<Datum> all;
        for (const ExpressionPtr& part : of.parts) all.push_back(value(*part));
        return extreme(all, of.aggregate == syntax::Aggregate::Max);
      }
      case Kind::Negate: {
        const Datum a = value(*of.parts[0]);
        return is_missing(a) ? Datum() : Datum(-number(a));
      }
      case Kind::And:
      case Kind::Or: {
        const bool decides = of.kind == Kind::Or;
        const Datum a = value(*of.parts[0]), b = value(*of.parts[1]);
        for (const Datum& datum : {a, b})
          if (!is_missing(datum) && (std::get<std::int64_t>(datum) != 0) == decides) return truth(decides);
        return is_missing(a) || is_missing(b) ? Datum() : truth(!decides);
      }
      case Kind::Not: {
        const Datum a = value(*of.parts[0]);
        return is_missing(a) ? Datum() : truth(std::get<std::int64_t>(a) == 0);
      }
      default: break;
    }
    const Datum a = value(*of.parts[0]), b = value(*of.parts[1]);
    if (is_missing(a) || is_missing(b)) return {};
    switch (of.kind) {
      case Kind::Add: return number(a) + number(b);
      case Kind::Subtract:
        if (of.parts[0]->type.kind == Type::DateTime)
          return static_cast<double>(std::get<std::int64_t>(a) - std::get<std::int64_t>(b)) / 1e6;
        return number(a) - number(b);
      case Kind::Multiply: return number(a) * number(b);
      case Kind::Divide: return number(b) == 0 ? Datum() : Datum(number(a) / number(b));
      case Kind::Equal: return truth(!less(a, b) && !less(b, a));
      case Kind::Unequal: return truth(less(a, b) || less(b, a));
      case Kind::Less: return truth(less(a, b));
      default: return truth(!less(b, a));
    }
  }

  const Model& model_;
  const World& world_;
  std::map<int, Datum> values_;
};

}  // namespace refrain::properties::test
