#pragma once
/// The identity of a build of a module, in lower-case hexadecimal: the build-id, or a substitute for it if there is
/// none (format/file_identity.hpp).

#include <string>

namespace refrain::symbols {

std::string hexadecimal(const unsigned char* bytes, int count);
/// Whether `build_id` is a substitute, made from the contents of the file.
bool is_by_contents(const std::string& build_id);
/// The substitute for a module without a build-id, from the contents of its open file. Empty: it cannot be read.
std::string identity_of_file(int file);

}  // namespace refrain::symbols
