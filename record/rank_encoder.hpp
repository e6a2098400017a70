#pragma once
/// Turns the measurement of one process into its definitions and the sections of its block. Runtime half.
///
/// The call trees of all threads become one tree of the rank. Two nodes of the same call path (of a module that was
/// unloaded and loaded elsewhere) become one path, and their values are combined by each metric's reduction.

#include "record/block_builder.hpp"
#include "record/definition_set.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// Fills `definitions`, which must not be created yet, and adds all sections of a rank's block but PathMapping. Path
/// numbers in the sections are those of `definitions`. False: no memory.
[[nodiscard]] bool encode_rank(const RankRecord& record, DefinitionSet& definitions, BlockBuilder& block);

/// The section PathMapping: the unified number of each of the rank's own paths.
[[nodiscard]] bool add_path_mapping(std::span<const std::uint32_t> unified, BlockBuilder& block);

/// The sections of a definitions block.
[[nodiscard]] bool encode_definitions(const DefinitionSet& definitions, BlockBuilder& block);

}  // namespace refrain::record
