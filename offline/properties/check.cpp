#include "offline/properties/check.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "offline/properties/data_model.hpp"
#include "offline/properties/words.hpp"

namespace refrain::properties {
namespace {

using syntax::Aggregate;
using Written = syntax::Expression;
using Kind = Expression::Kind;

/// Limits: nested calls of functions multiply the size of an expression, and databases and stacks have limits.
constexpr std::size_t most_expressions = 20'000;
constexpr int deepest = 300;
constexpr std::size_t most_calls = 100;  ///< nested
/// Microseconds since 1970 of "2026-11-26" or "2026-11-26 14:05:09", in UTC; nullopt when the text is no date.
std::optional<std::int64_t> date_of(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  const char* begin = text.c_str();
  if (std::sscanf(begin, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3) return std::nullopt;
  if (begin[used] != '\0') {
    const int date = used;
    if ((begin[date] != ' ' && begin[date] != 'T') ||
        std::sscanf(begin + date + 1, "%2d:%2d:%2d%n", &hour, &minute, &second, &used) != 3 ||
        begin[date + 1 + used] != '\0')
      return std::nullopt;
  }
  const std::chrono::year_month_day ymd{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                        std::chrono::day(static_cast<unsigned>(day))};
  if (!ymd.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(ymd).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000;
}

/// A name that is known at a place in the text, its value, and the scope around it.
struct Scope {
  const Scope* outer = nullptr;
  std::string name;
  ExpressionPtr value;
};

class Checker {
 public:
  explicit Checker(const std::vector<Source>& sources) {
    for (const Source& source : sources) parsed_.push_back({&source, parse(source)});
  }

  Program compile() {
    model_ = build_model(parsed_);
    collect_functions();
    Program program{model_, {}};
    for (const ParsedSource& parsed : parsed_)
      for (const syntax::Property& property : parsed.syntax.properties) {
        source_ = parsed.source;
        if (const Property* other = program.property(property.name))
          fail(property.at, fmt::format("property {} has been declared before, in {}", property.name, other->source));
        program.properties.push_back(check(property));
      }
    for (const ParsedSource& parsed : parsed_)
      for (const syntax::Property& property : parsed.syntax.properties) check_refined(parsed, property, program);
    return program;
  }

 private:
  struct FunctionEntry {
    const Source* source;
    const syntax::Function* syntax;
    Type type;
    std::vector<Type> parameters;
  };

  [[noreturn]] void fail(Position at, const std::string& message) const {
    throw SpecificationError(*source_, at, message);
  }

  Type type_of(const syntax::TypeName& written) const { return properties::type_of(*model_, *source_, written); }

  // Functions.

  void collect_functions() {
    for (const ParsedSource& parsed : parsed_) {
      source_ = parsed.source;
      for (const syntax::Function& of : parsed.syntax.functions) {
        if (model_->class_named(of.name) >= 0) fail(of.at, fmt::format("{} is a class", of.name));
        FunctionEntry entry{parsed.source, &of, type_of(of.type), {}};
        for (const syntax::Parameter& parameter : of.parameters) {
          if (parameter.set || parameter.condition) fail(parameter.at, "only contexts of properties can be restricted");
          entry.parameters.push_back(type_of(parameter.type));
        }
        const auto before = functions_.find(of.name);
        if (before != functions_.end()) {
          if (!before->second.source->is_library || parsed.source->is_library)
            fail(of.at, fmt::format("{} has been declared before", of.name));
          if (before->second.type != entry.type || before->second.parameters != entry.parameters)
            fail(of.at, fmt::format("{} is another one in the library, by its types", of.name));
        }
        functions_.insert_or_assign(of.name, std::move(entry));
      }
    }
    // Each function is checked by itself, so that mistakes are found even in functions that nothing calls.
    for (const auto& [name, entry] : functions_) {
      source_ = entry.source;
      std::vector<ExpressionPtr> arguments;
      for (std::size_t i = 0; i < entry.parameters.size(); ++i)
        arguments.push_back(variable(make_variable(entry.syntax->parameters[i].name, entry.parameters[i])));
      limit_at_ = entry.syntax->at;
      limit_source_ = entry.source;
      call(entry, arguments, entry.syntax->at);
    }
  }

  ExpressionPtr call(const FunctionEntry& entry, const std::vector<ExpressionPtr>& arguments, Position at) {
    if (std::ranges::find(calling_, &entry) != calling_.end())
      fail(at, fmt::format("{} calls itself", entry.syntax->name));
    if (calling_.size() >= most_calls) fail(at, fmt::format("more than {} functions that call each other", most_calls));
    const Source* caller = source_;
    source_ = entry.source;
    calling_.push_back(&entry);
    std::vector<Scope> scopes(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i)
      scopes[i] = {i == 0 ? nullptr : &scopes[i - 1], entry.syntax->parameters[i].name, arguments[i]};
    ExpressionPtr result = check(*entry.syntax->body, scopes.empty() ? nullptr : &scopes.back());
    result = fitting(result, entry.type, entry.syntax->body->at, [&] {
      return fmt::format("{} is declared as {}", entry.syntax->name, model_->name_of(entry.type));
    });
    calling_.pop_back();
    source_ = caller;
    return result;
  }

  // Expressions.

  Variable make_variable(std::string name, Type type) { return {next_id_++, std::move(name), type}; }

  static std::shared_ptr<Expression> make(Kind kind, Type type) {
    auto result = std::make_shared<Expression>();
    result->kind = kind;
    result->type = type;
    return result;
  }

  /// Computes and limits the size and depth of an expression that has all its parts.
  ExpressionPtr done(std::shared_ptr<Expression> of) const {
    const auto add = [&](const Expression& part) {
      of->size += part.size;
      of->depth = std::max(of->depth, part.depth + 1);
    };
    for (const ExpressionPtr& part : of->parts) add(*part);
    for (const Binding& binding : of->bindings) add(*binding.set);
    if (of->size > most_expressions || of->depth > deepest)
      throw SpecificationError(*limit_source_, limit_at_, "the functions that are called here make it too large");
    return of;
  }

  ExpressionPtr make(Kind kind, Type type, std::vector<ExpressionPtr> parts) {
    auto result = make(kind, type);
    result->parts = std::move(parts);
    return done(std::move(result));
  }

  ExpressionPtr variable(const Variable& of) {
    auto result = make(Kind::Variable, of.type);
    result->integer = of.id;
    result->text = of.name;
    return result;
  }

  ExpressionPtr constant(Type type, std::int64_t integer, double real = 0, std::string text = {}) {
    auto result = make(Kind::Constant, type);
    result->integer = integer;
    result->real = real;
    result->text = std::move(text);
    return result;
  }

  /// `value` converted to `type`: the same type, an int to a float, a string to a date, an object of a class that
  /// extends `type`.
  template <class Why>
  ExpressionPtr fitting(ExpressionPtr value, Type type, Position at, Why why) {
    if (auto converted = converted_to(value, type, at)) return converted;
    fail(at, fmt::format("{}, and this is {}", why(), described(value->type)));
  }

  ExpressionPtr converted_to(const ExpressionPtr& value, Type type, Position at) {
    if (value->type == type) return value;
    if (type == Type{Type::Float} && value->type == Type{Type::Int})
      return value->kind == Kind::Constant ? constant(type, 0, static_cast<double>(value->integer)) : value;
    if (type == Type{Type::DateTime} && value->type == Type{Type::String} && value->kind == Kind::Constant) {
      const auto date = date_of(value->text);
      if (!date)
        fail(at,
             fmt::format("\"{}\" is no date; dates are written as \"2026-11-26\" or \"2026-11-26 14:05:09\", in UTC",
                         value->text));
      return constant(type, *date);
    }
    if (type.kind == Type::Object && value->type.kind == Type::Object && type.is_set == value->type.is_set &&
        model_->is_a(value->type.index, type.index))
      return value;
    return nullptr;
  }

  std::string described(Type type) const {
    const std::string name = model_->name_of(type);
    if (type.is_set) return fmt::format("a set of {}", model_->classes[type.index].name);
    return type.kind == Type::Object ? "a " + name : name;
  }

  ExpressionPtr condition(const Written& written, const Scope* scope) {
    ExpressionPtr value = check(written, scope);
    if (!value->type.is_condition())
      fail(written.at,
           fmt::format("a condition is expected here, which is true or false, not {}", described(value->type)));
    return value;
  }

  ExpressionPtr number(const Written& written, const Scope* scope, std::string_view of) {
    ExpressionPtr value = check(written, scope);
    if (!value->type.is_number())
      fail(written.at, fmt::format("{} is expected here, not {}", of, described(value->type)));
    return value;
  }

  ExpressionPtr set(const Written& written, const Scope* scope) {
    ExpressionPtr value = check(written, scope);
    if (!value->type.is_set) fail(written.at, fmt::format("a set is expected here, not {}", described(value->type)));
    return value;
  }

  Binding bind(const std::string& name, const Written& written_set, const Scope* scope) {
    ExpressionPtr members = set(written_set, scope);
    Type type = members->type;
    type.is_set = false;
    return {make_variable(name, type), std::move(members)};
  }

  ExpressionPtr check(const Written& written, const Scope* scope) {
    if (calling_.empty()) {
      limit_at_ = written.at;
      limit_source_ = source_;
    }
    switch (written.kind) {
      case Written::Kind::Integer: return constant({Type::Int}, written.integer, static_cast<double>(written.integer));
      case Written::Kind::Real: return constant({Type::Float}, 0, written.real);
      case Written::Kind::Text:
        if (written.text.find('\0') != written.text.npos) fail(written.at, "a string with a zero byte");
        return constant({Type::String}, 0, 0, written.text);
      case Written::Kind::Boolean: return constant({Type::Bool}, written.integer);
      case Written::Kind::Name: return named(written, scope);
      case Written::Kind::Call: return called(written, scope);
      case Written::Kind::Attribute: return attribute(written, scope);
      case Written::Kind::Negation: {
        ExpressionPtr value = number(*written.parts[0], scope, "a number");
        const Type type = value->type;
        return make(Kind::Negate, type, {std::move(value)});
      }
      case Written::Kind::Not: return make(Kind::Not, {Type::Bool}, {condition(*written.parts[0], scope)});
      case Written::Kind::Binary: return binary(written, scope);
      case Written::Kind::Comprehension:
      case Written::Kind::Exists:
      case Written::Kind::ForAll: return quantified(written, scope);
      case Written::Kind::Unique: {
        ExpressionPtr members = set(*written.parts[0], scope);
        Type type = members->type;
        type.is_set = false;
        return make(Kind::Unique, type, {std::move(members)});
      }
      case Written::Kind::Count: {
        auto result = make(Kind::Aggregate, {Type::Int});
        result->aggregate = Aggregate::Count;
        result->bindings.push_back(bind("member", *written.parts[0], scope));
        result->parts.push_back(variable(result->bindings[0].variable));
        return done(std::move(result));
      }
      case Written::Kind::Aggregate: return aggregate(written, scope);
      case Written::Kind::Extremum: return extremum(written, scope);
    }
    return nullptr;
  }

  ExpressionPtr named(const Written& written, const Scope* scope) {
    for (const Scope* at = scope; at != nullptr; at = at->outer)
      if (at->name == written.text) return at->value;
    if (const auto found = functions_.find(written.text); found != functions_.end()) {
      if (!found->second.syntax->is_constant)
        fail(written.at, fmt::format("{} is a function: {}(...)", written.text, written.text));
      return call(found->second, {}, written.at);
    }
    std::vector<int> of;
    for (std::size_t i = 0; i < model_->enumerations.size(); ++i)
      if (std::ranges::find(model_->enumerations[i].values, written.text) != model_->enumerations[i].values.end())
        of.push_back(static_cast<int>(i));
    if (of.size() == 1) return enumerator(of[0], written.text);
    if (of.size() > 1)
      fail(written.at, fmt::format("{0} is in the enumerations {1} and {2}; write {1}.{0} or {2}.{0}", written.text,
                                   model_->enumerations[of[0]].name, model_->enumerations[of[1]].name));
    if (const int index = model_->class_named(written.text); index >= 0)
      return make(Kind::Extent, {Type::Object, index, true});
    std::vector<std::string> known = class_names(*model_);
    for (const Scope* at = scope; at != nullptr; at = at->outer) known.push_back(at->name);
    for (const auto& [name, entry] : functions_) known.push_back(name);
    for (const Enumeration& enumeration : model_->enumerations)
      known.insert(known.end(), enumeration.values.begin(), enumeration.values.end());
    fail(written.at, fmt::format("{} is not known here{}", written.text, suggestion(written.text, known)));
  }

  ExpressionPtr enumerator(int of, std::string_view name) {
    const auto& values = model_->enumerations[of].values;
    return constant({Type::Enumeration, of}, std::ranges::find(values, name) - values.begin());
  }

  ExpressionPtr called(const Written& written, const Scope* scope) {
    const auto found = functions_.find(written.text);
    if (found == functions_.end()) {
      std::vector<std::string> known;
      for (const auto& [name, entry] : functions_) known.push_back(name);
      fail(written.at, fmt::format("there is no function {}{}", written.text, suggestion(written.text, known)));
    }
    const FunctionEntry& entry = found->second;
    if (entry.syntax->is_constant) fail(written.at, fmt::format("{} is a constant", written.text));
    if (entry.parameters.size() != written.parts.size())
      fail(written.at, fmt::format("{} takes {} argument{}, not {}", written.text, entry.parameters.size(),
                                   entry.parameters.size() == 1 ? "" : "s", written.parts.size()));
    std::vector<ExpressionPtr> arguments;
    for (std::size_t i = 0; i < entry.parameters.size(); ++i)
      arguments.push_back(fitting(check(*written.parts[i], scope), entry.parameters[i], written.parts[i]->at, [&] {
        return fmt::format("{} takes {} for {}", written.text, described(entry.parameters[i]),
                           entry.syntax->parameters[i].name);
      }));
    return call(entry, arguments, written.at);
  }

  ExpressionPtr attribute(const Written& written, const Scope* scope) {
    const Written& owner = *written.parts[0];
    // Enumeration.value
    if (owner.kind == Written::Kind::Name &&
        std::ranges::none_of(names_in(scope), [&](const std::string& name) { return name == owner.text; }))
      if (const int index = model_->enumeration_named(owner.text); index >= 0) {
        const auto& values = model_->enumerations[index].values;
        if (std::ranges::find(values, written.text) == values.end())
          fail(written.at, fmt::format("{} has no {}{}", owner.text, written.text, suggestion(written.text, values)));
        return enumerator(index, written.text);
      }
    ExpressionPtr object = check(owner, scope);
    if (!object->type.is_object())
      fail(written.at,
           fmt::format("only objects have attributes, and what is before '.' is {}{}", described(object->type),
                       object->type.is_set ? "; UNIQUE(...) is its one member" : ""));
    const Attribute* attribute = model_->attribute(object->type.index, written.text);
    if (attribute == nullptr) {
      std::vector<std::string> known;
      for (int of = object->type.index; of >= 0; of = model_->classes[of].base)
        for (const Attribute& one : model_->classes[of].attributes) known.push_back(one.name);
      fail(written.at, fmt::format("{} has no attribute {}{}", model_->classes[object->type.index].name, written.text,
                                   suggestion(written.text, known)));
    }
    auto result = make(Kind::Attribute, attribute->type);
    result->attribute = attribute;
    result->parts.push_back(std::move(object));
    return done(std::move(result));
  }

  static std::vector<std::string> names_in(const Scope* scope) {
    std::vector<std::string> names;
    for (; scope != nullptr; scope = scope->outer) names.push_back(scope->name);
    return names;
  }

  ExpressionPtr binary(const Written& written, const Scope* scope) {
    const Written &left = *written.parts[0], &right = *written.parts[1];
    const std::string& operation = written.text;
    if (operation == "AND" || operation == "OR")
      return make(operation == "AND" ? Kind::And : Kind::Or, {Type::Bool},
                  {condition(left, scope), condition(right, scope)});
    if (operation == "+" || operation == "-" || operation == "*" || operation == "/") return arithmetic(written, scope);
    ExpressionPtr a = check(left, scope), b = check(right, scope);
    if (!(a->type.is_number() && b->type.is_number())) {
      if (auto converted = converted_to(b, a->type, right.at)) b = converted;
      else if (auto other = converted_to(a, b->type, left.at)) a = other;
      else fail(written.at, fmt::format("{} cannot be compared with {}", described(a->type), described(b->type)));
    }
    if (a->type.is_set) fail(written.at, "sets cannot be compared");
    const bool equality = operation == "==" || operation == "!=";
    if (!equality && !a->type.is_ordered())
      fail(written.at, fmt::format("{} has no order; == and != compare", described(a->type)));
    const Type result{Type::Bool};
    if (operation == "==") return make(Kind::Equal, result, {a, b});
    if (operation == "!=") return make(Kind::Unequal, result, {a, b});
    if (operation == "<") return make(Kind::Less, result, {a, b});
    if (operation == ">") return make(Kind::Less, result, {b, a});
    if (operation == "<=") return make(Kind::AtMost, result, {a, b});
    return make(Kind::AtMost, result, {b, a});
  }

  ExpressionPtr arithmetic(const Written& written, const Scope* scope) {
    ExpressionPtr a = check(*written.parts[0], scope), b = check(*written.parts[1], scope);
    if (written.text == "-" && a->type == Type{Type::DateTime} && b->type == a->type)
      return make(Kind::Subtract, {Type::Float}, {a, b});
    for (const auto& [value, at] : {std::pair(a, written.parts[0]->at), std::pair(b, written.parts[1]->at)})
      if (!value->type.is_number())
        fail(at, fmt::format("{} takes numbers, not {}", written.text, described(value->type)));
    const bool whole = a->type.kind == Type::Int && b->type.kind == Type::Int && written.text != "/";
    const Kind kind = written.text == "+"   ? Kind::Add
                      : written.text == "-" ? Kind::Subtract
                      : written.text == "*" ? Kind::Multiply
                                            : Kind::Divide;
    return make(kind, {whole ? Type::Int : Type::Float}, {a, b});
  }

  ExpressionPtr quantified(const Written& written, const Scope* scope) {
    Binding binding = bind(written.bindings[0].name, *written.bindings[0].set, scope);
    const bool makes_set = written.kind == Written::Kind::Comprehension;
    auto result = make(makes_set                               ? Kind::Comprehension
                       : written.kind == Written::Kind::Exists ? Kind::Exists
                                                               : Kind::ForAll,
                       makes_set ? binding.set->type : Type{Type::Bool});
    const Scope inner{scope, binding.variable.name, variable(binding.variable)};
    if (!written.parts.empty()) result->parts.push_back(condition(*written.parts[0], &inner));
    else if (result->kind == Kind::ForAll)
      fail(written.at, "FORALL needs a condition: FORALL(x IN set WITH condition)");
    result->bindings.push_back(std::move(binding));
    return done(std::move(result));
  }

  ExpressionPtr aggregate(const Written& written, const Scope* scope) {
    auto result = make(Kind::Aggregate, {Type::Float});
    result->aggregate = written.aggregate;
    std::vector<std::unique_ptr<Scope>> scopes;
    const Scope* inner = scope;
    for (const syntax::Binding& one : written.bindings) {
      result->bindings.push_back(bind(one.name, *one.set, inner));
      scopes.push_back(std::make_unique<Scope>(Scope{inner, one.name, variable(result->bindings.back().variable)}));
      inner = scopes.back().get();
    }
    ExpressionPtr value = check(*written.parts[0], inner);
    const bool takes_any = written.aggregate == Aggregate::Count;
    const bool takes_order = written.aggregate == Aggregate::Min || written.aggregate == Aggregate::Max;
    if (value->type.is_set || (!takes_any && !(takes_order ? value->type.is_ordered() : value->type.is_number())))
      fail(written.parts[0]->at, fmt::format("{} is expected here, not {}",
                                             takes_any     ? "a value"
                                             : takes_order ? "a number, a date or a string"
                                                           : "a number",
                                             described(value->type)));
    if (takes_any) result->type = {Type::Int};
    else if (takes_order) result->type = value->type;
    result->parts.push_back(std::move(value));
    if (written.parts.size() > 1) result->parts.push_back(condition(*written.parts[1], inner));
    return done(std::move(result));
  }

  ExpressionPtr extremum(const Written& written, const Scope* scope) {
    std::vector<ExpressionPtr> values;
    for (const auto& part : written.parts) {
      ExpressionPtr value = check(*part, scope);
      if (!value->type.is_ordered())
        fail(part->at, value->type.is_set ? "a set needs an expression of its members: MAX(x.Attribute WHERE x IN set)"
                                          : fmt::format("a number, a date or a string is expected here, not {}",
                                                        described(value->type)));
      if (!values.empty() && !(value->type.is_number() && values[0]->type.is_number()))
        value = fitting(value, values[0]->type, part->at,
                        [&] { return fmt::format("the first value is {}", described(values[0]->type)); });
      values.push_back(std::move(value));
    }
    Type type = values[0]->type;
    for (const ExpressionPtr& value : values)
      if (value->type.kind == Type::Float) type = value->type;
    auto result = make(Kind::Extremum, type);
    result->aggregate = written.aggregate;
    result->parts = std::move(values);
    return done(std::move(result));
  }

  // Properties.

  void check_refined(const ParsedSource& parsed, const syntax::Property& written, const Program& program) {
    source_ = parsed.source;
    std::size_t steps = 0;
    for (const Property* at = program.property(written.name); !at->refines.empty();) {
      const Property* next = program.property(at->refines);
      if (next == nullptr)
        fail(written.refines_at,
             fmt::format("there is no property {}{}", at->refines, suggestion(at->refines, property_names(program))));
      if (++steps > program.properties.size()) fail(written.refines_at, fmt::format("{} refines itself", written.name));
      at = next;
    }
  }

  Property check(const syntax::Property& written) {
    Property property{written.name, written.help, source_->name, written.refines, {}, {}, {}, {}, {}};
    std::vector<std::unique_ptr<Scope>> scopes;
    const Scope* scope = nullptr;
    const auto enter = [&](const std::string& name, ExpressionPtr value) {
      scopes.push_back(std::make_unique<Scope>(Scope{scope, name, std::move(value)}));
      scope = scopes.back().get();
    };
    if (written.parameters.empty())
      fail(written.at, fmt::format("{} has no context: name objects in its parentheses", written.name));
    for (const syntax::Parameter& one : written.parameters) {
      const Type type = type_of(one.type);
      if (!type.is_object()) fail(one.type.at, fmt::format("a context is an object, and this is {}", described(type)));
      for (const Parameter& other : property.parameters)
        if (other.variable.name == one.name) fail(one.at, fmt::format("{} is the name of two parameters", one.name));
      Parameter parameter{make_variable(one.name, type), nullptr, nullptr};
      if (one.set) {
        parameter.set = set(*one.set, scope);
        if (!model_->is_a(parameter.set->type.index, type.index))
          fail(one.set->at,
               fmt::format("{} is {}, and this is {}", one.name, described(type), described(parameter.set->type)));
      }
      enter(one.name, variable(parameter.variable));
      if (one.condition) parameter.condition = condition(*one.condition, scope);
      property.parameters.push_back(std::move(parameter));
    }
    for (const syntax::Definition& one : written.definitions) {
      const Type type = type_of(one.type);
      if (type.is_set) fail(one.type.at, "a definition is a value or an object, not a set");
      ExpressionPtr value = fitting(check(*one.value, scope), type, one.value->at, [&] {
        return fmt::format("{} is declared as {}", one.name, model_->name_of(type));
      });
      property.definitions.push_back({make_variable(one.name, type), std::move(value)});
      enter(one.name, variable(property.definitions.back().variable));
    }
    for (const syntax::Condition& one : written.conditions) {
      for (const Condition& other : property.conditions)
        if (!one.id.empty() && other.id == one.id)
          fail(one.at, fmt::format("({}) is the id of two conditions", one.id));
      property.conditions.push_back({one.id, condition(*one.value, scope)});
    }
    const auto guarded = [&](const std::vector<syntax::Guarded>& entries, std::string_view what) {
      std::vector<Guarded> result;
      for (const syntax::Guarded& one : entries) {
        const auto found = std::ranges::find(property.conditions, one.guard, &Condition::id);
        if (!one.guard.empty() && found == property.conditions.end()) {
          std::vector<std::string> known;
          for (const Condition& other : property.conditions)
            if (!other.id.empty()) known.push_back(other.id);
          fail(one.at, fmt::format("no condition has the id ({}){}", one.guard, suggestion(one.guard, known)));
        }
        result.push_back({one.guard.empty() ? -1 : static_cast<int>(found - property.conditions.begin()),
                          number(*one.value, scope, what)});
      }
      return result;
    };
    property.confidence = guarded(written.confidence, "a number from 0 to 1");
    property.severity = guarded(written.severity, "a number");
    return property;
  }

  std::vector<ParsedSource> parsed_;
  std::shared_ptr<const Model> model_;
  std::map<std::string, FunctionEntry> functions_;
  std::vector<const FunctionEntry*> calling_;
  const Source* source_ = nullptr;
  Position limit_at_;  ///< where an expression that is too large is reported
  const Source* limit_source_ = nullptr;
  int next_id_ = 0;
};

}  // namespace

const Property* Program::property(std::string_view name) const {
  const auto found = std::ranges::find(properties, name, &Property::name);
  return found == properties.end() ? nullptr : &*found;
}

std::vector<std::string> property_names(const Program& program) {
  std::vector<std::string> names;
  for (const Property& property : program.properties) names.push_back(property.name);
  return names;
}

Program compile(const std::vector<Source>& sources) { return Checker(sources).compile(); }

}  // namespace refrain::properties
