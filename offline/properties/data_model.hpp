#pragma once
/// From the declarations of classes and enumerations to the data model.

#include <memory>
#include <span>

#include "offline/properties/model.hpp"
#include "offline/properties/source.hpp"
#include "offline/properties/syntax.hpp"

namespace refrain::properties {

struct ParsedSource {
  const Source* source;
  syntax::Specification syntax;
};

/// Throws SpecificationError, also for names that a database would not distinguish.
std::shared_ptr<const Model> build_model(std::span<const ParsedSource> sources);

/// Resolves a type name written in `source`. Throws SpecificationError.
Type type_of(const Model& model, const Source& source, const syntax::TypeName& written);

std::vector<std::string> class_names(const Model& model);

}  // namespace refrain::properties
