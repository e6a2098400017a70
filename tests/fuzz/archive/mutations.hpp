#pragma once
/// Damaged files for the fuzz tests: the same ones every time.

#include <random>
#include <string>

namespace refrain::testing {

using Random = std::mt19937_64;

/// A file in which all that files can have occurs, of so many ranks.
std::string sample_file(int ranks);
/// One to three changes: of bits, bytes, sizes, lengths and order.
std::string mutate(std::string bytes, Random& random);
/// A reader that believes a corrupt size fails with bad_alloc from here on. Not under sanitizers, which map more.
void limit_memory();

}  // namespace refrain::testing
