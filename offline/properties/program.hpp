#pragma once
/// A specification whose names and types are known: what is evaluated. Functions and constants are put in where they
/// are called.
///
/// Any value may be missing. What is made from a missing value is missing, but for these:
/// - AND and OR, where the other operand decides: FALSE AND missing is FALSE, TRUE OR missing is TRUE;
/// - a condition holds, and a member is in a set, only where it is true; so EXISTS and FORALL are never missing;
/// - SUM, MIN, MAX, AVG and STDEV leave members out whose value is missing, COUNT does not count them. Of no value SUM
/// and
///   COUNT are 0, the others missing. MIN and MAX of a list of values, too, leave out what is missing.
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

/// Of parameters, LET and `x IN s`. Ids are unique in a Program.
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
    Constant,       ///< integer, real or text, as the type says; of an enumeration the place in it
    Variable,       ///< integer: its id
    Attribute,      ///< attribute of parts[0]; a set of its members when the type is a set
    Extent,         ///< all objects of a class
    Comprehension,  ///< bindings[0], with parts[0] unless it has none
    Unique,         ///< parts[0]
    Aggregate,      ///< of parts[0] over bindings, with parts[1] unless it has none; COUNT may be of a set's members
    Exists,         ///< bindings[0], parts[0] unless it has none
    ForAll,         ///< bindings[0], parts[0]
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
  /// Of what it becomes when it is written out: how many expressions, and how deep. What is used twice counts twice.
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

/// Counts where its condition is true, or with no guard always, unless its value is missing.
struct Guarded {
  int guard = -1;  ///< index of the property's conditions
  ExpressionPtr value;
};

/// Holds in a context, objects for its parameters, where one of its conditions is true. Confidence and severity are the
/// largest of what counts; the confidence is kept within 0 and 1.
struct Property {
  std::string name, help;
  std::string source;   ///< the file
  std::string refines;  ///< the property whose severity it explains a part of; empty: none
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

/// In the order of the program.
std::vector<std::string> property_names(const Program& program);

}  // namespace refrain::properties
