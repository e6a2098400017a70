#pragma once
/// From text to syntax: scans and parses a specification. The grammar is in grammar.yy, docs/properties.md explains it.

#include "offline/properties/syntax.hpp"

namespace refrain::properties {

/// Throws SpecificationError at the first mistake, with what was expected there.
syntax::Specification parse(const Source& source);

}  // namespace refrain::properties
