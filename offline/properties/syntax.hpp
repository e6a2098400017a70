#pragma once
/// A specification as it is written: the result of the parser, with the position of everything. Names are not yet
/// resolved (check.hpp).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "offline/properties/source.hpp"

namespace refrain::properties::syntax {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// `name IN set`.
struct Binding {
  Position at;
  std::string name;
  ExpressionPtr set;
};

enum class Aggregate : std::uint8_t { Sum, Min, Max, Avg, Count, Stdev };

struct Expression {
  enum class Kind : std::uint8_t {
    Integer,        ///< integer
    Real,           ///< real
    Text,           ///< text
    Boolean,        ///< integer: 0 or 1
    Name,           ///< text
    Call,           ///< text(parts...)
    Attribute,      ///< parts[0].text
    Negation,       ///< -parts[0]
    Not,            ///< NOT parts[0]
    Binary,         ///< parts[0] text parts[1]: + - * / == != < <= > >= AND OR
    Comprehension,  ///< {bindings[0] WITH parts[0]}; no part if there is no condition
    Unique,         ///< UNIQUE(parts[0])
    Aggregate,      ///< SUM(parts[0] WHERE bindings AND parts[1]); one part if there is no condition
    Count,          ///< COUNT(parts[0]) of a set
    Extremum,       ///< MIN or MAX (parts...) of values
    Exists,         ///< EXISTS(bindings[0] WITH parts[0])
    ForAll
  };
  Kind kind;
  Position at;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  Aggregate aggregate = Aggregate::Sum;  ///< of Aggregate and Extremum
  std::vector<ExpressionPtr> parts;
  std::vector<Binding> bindings;
};

struct TypeName {
  Position at;
  bool is_set = false;
  std::string name;
};

/// A parameter of a property or a function; that of a function has neither a set nor a condition.
struct Parameter {
  TypeName type;
  Position at;
  std::string name;
  ExpressionPtr set;        ///< IN: only members; null: all objects of the class
  ExpressionPtr condition;  ///< WITH; null: none
};

struct Attribute {
  TypeName type;
  Position at;
  std::string name;
};

struct Class {
  Position at;
  std::string name;
  Position base_at;
  std::string base;  ///< empty: none
  std::vector<Attribute> attributes;
};

struct Enumeration {
  Position at;
  std::string name;
  std::vector<std::pair<std::string, Position>> values;
};

/// A function, or a constant, which has no parameters.
struct Function {
  TypeName type;
  Position at;
  std::string name;
  bool is_constant = false;
  std::vector<Parameter> parameters;
  ExpressionPtr body;
};

struct Definition {
  TypeName type;
  Position at;
  std::string name;
  ExpressionPtr value;
};

struct Condition {
  Position at;
  std::string id;  ///< empty: none
  ExpressionPtr value;
};

/// An entry of CONFIDENCE or SEVERITY.
struct Guarded {
  Position at;
  std::string guard;  ///< the condition's id; empty: none
  ExpressionPtr value;
};

struct Property {
  Position at;
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Definition> definitions;
  std::vector<Condition> conditions;
  std::vector<Guarded> confidence, severity;
  Position refines_at;
  std::string refines;  ///< empty: nothing
  std::string help;     ///< the comment directly before it
};

struct Specification {
  std::vector<Class> classes;
  std::vector<Enumeration> enumerations;
  std::vector<Function> functions;
  std::vector<Property> properties;
};

}  // namespace refrain::properties::syntax
