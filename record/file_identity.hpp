#pragma once
/// The identity of a module without a build-id: format/file_identity.hpp. Runtime half.

#include <cstdint>
#include <span>

#include "format/file_identity.hpp"
#include "platform/modules.hpp"

namespace refrain::record {

using FileIdentity = std::uint8_t[format::file_identity_size];

/// Empty: the module has no file, or none that can be read. A file that has been written to or replaced since the
/// module was loaded has an identity that no file has.
std::span<const std::uint8_t> identify(const platform::Module& module, FileIdentity& identity);

}  // namespace refrain::record
