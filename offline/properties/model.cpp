#include "offline/properties/model.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace refrain::properties {
namespace {

template <class Named>
int index_named(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

/// Maximum number of columns in an index besides that of the owner.
constexpr std::size_t most_in_index = 3;

}  // namespace

int Model::class_named(std::string_view name) const { return index_named(classes, name); }
int Model::enumeration_named(std::string_view name) const { return index_named(enumerations, name); }

int Model::root_of(int of) const {
  while (classes[of].base >= 0) of = classes[of].base;
  return of;
}

bool Model::is_a(int of, int base) const {
  while (of >= 0 && of != base) of = classes[of].base;
  return of >= 0;
}

const Attribute* Model::attribute(int of, std::string_view name) const {
  for (; of >= 0; of = classes[of].base)
    for (const Attribute& attribute : classes[of].attributes)
      if (attribute.name == name) return &attribute;
  return nullptr;
}

std::string Model::name_of(const Type& type) const {
  const std::string name = type.kind == Type::Object        ? classes[type.index].name
                           : type.kind == Type::Enumeration ? enumerations[type.index].name
                                                            : plain_type_names[type.kind];
  return type.is_set ? "setof " + name : name;
}

std::vector<Table> Model::tables() const {
  std::vector<Table> tables;
  std::vector<std::size_t> table_of_class(classes.size());
  for (int of = 0; of < static_cast<int>(classes.size()); ++of) {
    const int root = root_of(of);
    if (of == root) {
      table_of_class[of] = tables.size();
      tables.push_back({of, classes[of].name, false, {}, {}});
    } else {
      table_of_class[of] = table_of_class[root];
      tables[table_of_class[of]].has_class = true;
    }
    for (const Attribute& attribute : classes[of].attributes)
      if (!attribute.type.is_set)
        tables[table_of_class[of]].columns.push_back({attribute.column, attribute.type, false});
  }
  for (const Class& of : classes)
    for (const Attribute& attribute : of.attributes) {
      if (!attribute.type.is_set) continue;
      Table& table = tables[table_of_class[attribute.type.index]];
      std::vector<std::string> index{attribute.column};
      for (const Column& column : table.columns)
        if (!column.is_owner && (column.type.kind == Type::Object || column.type.kind == Type::Enumeration) &&
            index.size() <= most_in_index)
          index.push_back(column.name);
      table.indices.push_back(std::move(index));
      table.columns.push_back({attribute.column, {Type::Object, attribute.of, false}, true});
    }
  return tables;
}

std::vector<std::string> Model::description() const {
  std::vector<std::string> lines;
  for (const Enumeration& of : enumerations)
    lines.push_back(fmt::format("enum {}: {}", of.name, fmt::join(of.values, ", ")));
  for (const Class& of : classes) {
    lines.push_back(of.base < 0 ? fmt::format("class {}", of.name)
                                : fmt::format("class {} extends {}", of.name, classes[of.base].name));
    for (const Attribute& attribute : of.attributes)
      lines.push_back(fmt::format("{}: {} {}", of.name, name_of(attribute.type), attribute.name));
  }
  return lines;
}

}  // namespace refrain::properties
