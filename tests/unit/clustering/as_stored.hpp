#pragma once
/// What a reader is told of that the writer was made with.

#include <span>
#include <vector>

#include "clustering/types.hpp"
#include "offline/experiment/sample_reader.hpp"

namespace refrain::clustering::test {

inline std::vector<experiment::StoredShape> as_stored(std::span<const Shape> shapes) {
  std::vector<experiment::StoredShape> stored;
  for (const Shape& shape : shapes) stored.push_back({shape.exact, shape.visits, shape.columns.size()});
  return stored;
}

}  // namespace refrain::clustering::test
