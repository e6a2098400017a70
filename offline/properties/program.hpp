#pragma once
/// A specification with resolved names and types, as it is evaluated. Functions and constants are inlined where they
/// are called.
///
/// Any value may be missing. A value computed from a missing one is missing, with these exceptions:
/// - AND and OR, where the other operand decides: FALSE AND missing is FALSE, TRUE OR missing is TRUE;
/// - a condition holds, and selects a member of a set, only if it is true; so EXISTS and FORALL are never missing;
/// - SUM, MIN, MAX, AVG and STDEV leave out members whose value is missing, and COUNT does not count them. Of no value,
///   SUM and COUNT are 0, the others missing. MIN and MAX of a list of values, too, leave out missing values.
/// A division by zero is missing. UNIQUE is missing unless the set has exactly one member. The set of a missing object
/// is empty. STDEV is that of the population: the root of the mean of the squares less the square of the mean, 0 where
/// rounding makes that negative.

#include <memory>

#include "offline/properties/model.hpp"
#include "offline/properties/source.hpp"
#include "offline/properties/syntax.hpp"

namespace refrain::properties {

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

/// A variable of a parameter, of LET or of `x IN s`. Ids are unique in a Program.
struct Variable {
  int id = -1;
  std::string name;
  Type type;
};

struct Binding {
  Variable variable;
  ExpressionPtr set;
};

struct Expression {
  enum class Kind : std::uint8_t {
    Constant,       ///< integer, real or text, by type; for an enumeration the index of the value
    Variable,       ///< integer: its id
    Attribute,      ///< attribute of parts[0]; a set of its members when the type is a set
    Extent,         ///< all objects of a class
    Comprehension,  ///< bindings[0], with condition parts[0] if any
    Unique,         ///< parts[0]
    Aggregate,      ///< of parts[0] over bindings, with condition parts[1] if any; COUNT may count members of a set
    Exists,         ///< bindings[0], with condition parts[0] if any
    ForAll,         ///< bindings[0], with condition parts[0]
    Extremum,       ///< aggregate (Min or Max) of parts, all of one type
    Negate,         ///< parts[0], a number
    Add,
    Subtract,
    Multiply,
    Divide,  ///< of numbers; Subtract also of two DateTime
    Equal,
    Unequal,
    Less,
    AtMost,  ///< of two values of one type, or two numbers
    And,
    Or,
    Not
  };
  Kind kind;
  Type type;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  const Attribute* attribute = nullptr;  ///< of the program's model
  syntax::Aggregate aggregate = syntax::Aggregate::Sum;
  std::vector<ExpressionPtr> parts;
  std::vector<Binding> bindings;
  /// Number of expressions and depth after expansion. An expression used twice counts twice.
  std::size_t size = 1;
  int depth = 1;
};

struct Parameter {
  Variable variable;
  ExpressionPtr set;        ///< null: all objects of the class
  ExpressionPtr condition;  ///< null: none
};

struct Definition {
  Variable variable;
  ExpressionPtr value;
};

struct Condition {
  std::string id;  ///< empty: none
  ExpressionPtr value;
};

/// An entry of confidence or severity. It counts if it has no guard or its guard is true, unless its value is missing.
struct Guarded {
  int guard = -1;  ///< index of a condition of the property; -1: none
  ExpressionPtr value;
};

/// A property holds in a context (objects for its parameters) if one of its conditions is true. Confidence and severity
/// are the maxima of the entries that count; confidence is limited to the range from 0 to 1.
struct Property {
  std::string name, help;
  std::string source;   ///< the file
  std::string refines;  ///< the property whose severity this one partly explains; empty: none
  std::vector<Parameter> parameters;
  std::vector<Definition> definitions;
  std::vector<Condition> conditions;
  std::vector<Guarded> confidence, severity;
};

struct Program {
  std::shared_ptr<const Model> model;
  std::vector<Property> properties;
  const Property* property(std::string_view name) const;  ///< null: none
};

/// Names of the properties, in the order of the program.
std::vector<std::string> property_names(const Program& program);

}  // namespace refrain::properties
