#include "offline/properties/data_model.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "offline/properties/words.hpp"

namespace refrain::properties {
namespace {

/// PostgreSQL truncates longer names of tables and columns.
constexpr std::size_t most_in_name = 63;

class Builder {
 public:
  explicit Builder(std::span<const ParsedSource> sources) : sources_(sources) {}

  std::shared_ptr<const Model> build() {
    collect_types();
    collect_attributes();
    return model_;
  }

 private:
  [[noreturn]] void fail(Position at, const std::string& message) const {
    throw SpecificationError(*source_, at, message);
  }

  void collect_types() {
    std::map<std::string, std::string> taken;  // tables and types by name in lower case
    const auto take = [&](Position at, const std::string& name) {
      const std::string word = small_letters(name);
      for (const char* plain : plain_type_names)
        if (small_letters(plain) == word) fail(at, fmt::format("{} is a type of the language", plain));
      if (name.size() > most_in_name - 10) fail(at, fmt::format("a name of more than {} letters", most_in_name - 10));
      for (const char* prefix : {"refrain_", "sqlite_", "pg_"})
        if (word.starts_with(prefix))
          fail(at, fmt::format("names that begin with {} are taken by the database", prefix));
      if (const auto [other, fresh] = taken.emplace(word, name); !fresh)
        fail(at, other->second == name
                     ? fmt::format("{} has been declared before", name)
                     : fmt::format("{} has been declared before as {}, which is the same to a database", name,
                                   other->second));
    };
    std::vector<std::pair<const Source*, const syntax::Class*>> classes;
    for (const ParsedSource& parsed : sources_) {
      source_ = parsed.source;
      for (const syntax::Enumeration& of : parsed.syntax.enumerations) {
        take(of.at, of.name);
        Enumeration enumeration{of.name, {}};
        for (const auto& [value, at] : of.values) {
          if (std::ranges::find(enumeration.values, value) != enumeration.values.end())
            fail(at, fmt::format("{} is in {} twice", value, of.name));
          enumeration.values.push_back(value);
        }
        model_->enumerations.push_back(std::move(enumeration));
      }
      for (const syntax::Class& of : parsed.syntax.classes) {
        take(of.at, of.name);
        classes.emplace_back(parsed.source, &of);
      }
    }
    // Base classes come first.
    while (!classes.empty()) {
      const std::size_t before = classes.size();
      std::erase_if(classes, [&](const auto& entry) {
        const syntax::Class& of = *entry.second;
        const int base = of.base.empty() ? -1 : model_->class_named(of.base);
        if (!of.base.empty() && base < 0) return false;
        model_->classes.push_back({of.name, base, {}});
        declared_.push_back(entry);
        return true;
      });
      if (classes.size() < before) continue;
      const auto& [source, of] = classes.front();
      source_ = source;
      const bool declared =
          std::ranges::any_of(classes, [&, base = of->base](const auto& entry) { return entry.second->name == base; });
      fail(of->base_at,
           declared ? fmt::format("{} extends itself", of->name)
                    : fmt::format("there is no class {}{}", of->base, suggestion(of->base, class_names(*model_))));
    }
  }

  void collect_attributes() {
    std::map<std::pair<int, std::string>, std::string> columns;  // by root and name in lower case
    for (std::size_t i = 0; i < declared_.size(); ++i) {
      source_ = declared_[i].first;
      for (const syntax::Attribute& of : declared_[i].second->attributes) {
        const int self = static_cast<int>(i);
        if (model_->attribute(self, of.name) != nullptr)
          fail(of.at, fmt::format("{} has an attribute {} already", model_->classes[i].name, of.name));
        Attribute attribute{of.name, type_of(*model_, *source_, of.type), self, {}};
        if (attribute.type.is_set && attribute.type.kind != Type::Object)
          fail(of.type.at, fmt::format("a set has objects for members, and {} is no class", of.type.name));
        attribute.column = attribute.type.is_set ? fmt::format("{}_{}", model_->classes[i].name, of.name) : of.name;
        if (attribute.column.size() > most_in_name)
          fail(of.at, fmt::format("class and attribute together have more than {} letters", most_in_name));
        const int root = model_->root_of(attribute.type.is_set ? attribute.type.index : self);
        const std::string word = small_letters(attribute.column);
        if (word == "id" || word == "class")
          fail(of.at, fmt::format("{} is the name of a column that every table has", of.name));
        if (const auto [other, fresh] = columns.emplace(std::pair(root, word), attribute.column); !fresh)
          fail(of.at,
               fmt::format("the table of {} has a column {} already", model_->classes[root].name, other->second));
        model_->classes[i].attributes.push_back(std::move(attribute));
      }
    }
  }

  std::span<const ParsedSource> sources_;
  std::shared_ptr<Model> model_ = std::make_shared<Model>();
  std::vector<std::pair<const Source*, const syntax::Class*>> declared_;  ///< by index of Model::classes
  const Source* source_ = nullptr;
};

}  // namespace

std::shared_ptr<const Model> build_model(std::span<const ParsedSource> sources) { return Builder(sources).build(); }

std::vector<std::string> class_names(const Model& model) {
  std::vector<std::string> names;
  for (const Class& of : model.classes) names.push_back(of.name);
  return names;
}

Type type_of(const Model& model, const Source& source, const syntax::TypeName& written) {
  for (int kind = 0; kind < static_cast<int>(std::size(plain_type_names)); ++kind)
    if (small_letters(written.name) == small_letters(plain_type_names[kind]))
      return {static_cast<Type::Kind>(kind), -1, written.is_set};
  if (const int index = model.class_named(written.name); index >= 0) return {Type::Object, index, written.is_set};
  if (const int index = model.enumeration_named(written.name); index >= 0)
    return {Type::Enumeration, index, written.is_set};
  for (const Class& of : model.classes)
    for (const Attribute& attribute : of.attributes)
      if (attribute.name == written.name)
        throw SpecificationError(
            source, written.at,
            fmt::format("{} is no type but an attribute of {}, a {}{}", written.name, of.name,
                        model.name_of(attribute.type),
                        attribute.type.is_set
                            ? fmt::format("; one of its members is a {}", model.classes[attribute.type.index].name)
                            : ""));
  std::vector<std::string> known = class_names(model);
  for (const Enumeration& of : model.enumerations) known.push_back(of.name);
  for (const char* name : plain_type_names) known.emplace_back(name);
  throw SpecificationError(source, written.at,
                           fmt::format("there is no type {}{}", written.name, suggestion(written.name, known)));
}

}  // namespace refrain::properties
