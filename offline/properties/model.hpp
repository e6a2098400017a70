#pragma once
/// The data model of a specification: its classes and enumerations, and how objects of them are stored in tables.
///
/// A class and all classes that extend it share a table, named after the class at the root. A row is an object: `id`,
/// `class` (the index of its class in Model::classes) if the table has several classes, and a column for each
/// attribute. An object is in at most one set of each `setof` attribute; a column of the member's table has the owner's
/// id.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::properties {

struct Type {
  enum Kind : std::uint8_t {
    Int,    ///< integer, with the arithmetic of floats
    Float,  ///< IEEE 754, 64 bits
    Bool,
    String,    ///< UTF-8 without zero bytes, ordered by its bytes
    DateTime,  ///< microseconds since 1970 in UTC; a difference of two is a float, in seconds
    Enumeration,
    Object
  };
  Kind kind = Int;
  int index = -1;  ///< of the enumeration or class
  bool is_set = false;
  bool operator==(const Type&) const = default;
  bool is_number() const { return !is_set && (kind == Int || kind == Float); }
  bool is_ordered() const { return is_number() || (!is_set && (kind == String || kind == DateTime)); }
  bool is_condition() const { return !is_set && kind == Bool; }
  bool is_object() const { return !is_set && kind == Object; }
};

/// Names of the types other than classes and enumerations, by Type::Kind.
inline constexpr const char* plain_type_names[] = {"int", "float", "bool", "String", "DateTime"};

struct Attribute {
  std::string name;
  Type type;
  int of = -1;         ///< the class that declares it
  std::string column;  ///< for a set: in the table of its members
};

struct Class {
  std::string name;
  int base = -1;                      ///< -1: none
  std::vector<Attribute> attributes;  ///< those that the class itself declares
};

struct Enumeration {
  std::string name;
  std::vector<std::string> values;
};

struct Column {
  std::string name;
  Type type;  ///< never a set; for an owner's column: the owner's class
  bool is_owner = false;
};

struct Table {
  int root = -1;  ///< the class
  std::string name;
  bool has_class = false;
  std::vector<Column> columns;  ///< besides id and class
  /// The columns of each index: one index for each set, which finds members by owner, then by what they refer to.
  std::vector<std::vector<std::string>> indices;
};

struct Model {
  std::vector<Class> classes;  ///< base classes before those that extend them
  std::vector<Enumeration> enumerations;

  int class_named(std::string_view name) const;        ///< -1: none
  int enumeration_named(std::string_view name) const;  ///< -1: none
  int root_of(int of) const;
  bool is_a(int of, int base) const;  ///< `of` is `base`, or extends it
  /// An attribute of the class or of one that it extends; null when there is none.
  const Attribute* attribute(int of, std::string_view name) const;
  std::string name_of(const Type& type) const;

  std::vector<Table> tables() const;  ///< by root, in the order of classes
  const std::string& table_of(int of) const { return classes[root_of(of)].name; }

  /// One line for each fact, the same for equal models. A database stores this to tell models apart.
  std::vector<std::string> description() const;
};

}  // namespace refrain::properties
