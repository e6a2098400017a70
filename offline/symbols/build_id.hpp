#pragma once
/// What tells builds of a module apart, in lower-case hexadecimal: the build-id, or what stands for it where there is
/// none (format/file_identity.hpp).

#include <string>

namespace refrain::symbols {

std::string hexadecimal(const unsigned char* bytes, int count);
/// Whether it stands for a build-id.
bool is_by_contents(const std::string& build_id);
/// Of a module without a build-id, by the contents of its open file. Empty: it cannot be read.
std::string identity_of_file(int file);

}  // namespace refrain::symbols
