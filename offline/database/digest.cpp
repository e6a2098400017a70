// Before any other header: one that includes xxhash.h without this macro would leave functions to be linked.
#define XXH_INLINE_ALL
#include "offline/database/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace refrain::database {

struct Digest::State {
  XXH3_state_t of;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->of); }
Digest::~Digest() = default;

void Digest::add(std::span<const std::byte> bytes) { XXH3_128bits_update(&state_->of, bytes.data(), bytes.size()); }

std::string Digest::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->of);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace refrain::database
