#pragma once
/// The identity of a module without a build-id: format/file_identity.hpp. Runtime half.

#include <cstdint>
#include <span>

#include "format/file_identity.hpp"
#include "platform/modules.hpp"

namespace refrain::record {

using FileIdentity = std::uint8_t[format::file_identity_size];

/// Returns the identity of the module's file. Empty: the module has no file, or none that can be read. A file that was
/// written to or replaced since the module was loaded gets an identity that no file has.
std::span<const std::uint8_t> identify(const platform::Module& module, FileIdentity& identity);

}  // namespace refrain::record
