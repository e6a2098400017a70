#pragma once
/// The exact vector and the label of every iteration, packed into blocks that go to a file.
///
/// A block can be decoded by itself; docs/file-format.md describes it. Its iterations are consecutive. Columns that are
/// not kept take no room.
///
/// Iterations without a vector, because the thread recorded nothing in them or did not exist, form runs. A run is one
/// number, whatever its length.
///
/// The log of a long loop is thinned as it grows (format::log_level_at): of a group of 2^level iterations, the one that
/// format::KeptIterations chooses is kept, and the sum over the others, so all sums stay exact. Written data never
/// change. The size grows with the logarithm of the number of iterations.
///
/// Thread safety: none, one log per loop of a location, ordinary context. No I/O.

#include <cstddef>
#include <cstdint>
#include <span>

#include "clustering/types.hpp"
#include "format/iteration_log.hpp"
#include "platform/pages.hpp"

namespace refrain::clustering {

class IterationLog {
 public:
  static constexpr std::uint64_t all = std::uint64_t{1} << 63;

  /// To be called once. `whole`: the number of iterations that are kept one by one, a power of two. False: no memory,
  /// more than max_overall columns, a block too small for one append, or `whole` is no power of two.
  [[nodiscard]] bool create(std::span<const Precision> columns, std::size_t block_bytes = 32768,
                            std::uint64_t whole = all);

  enum class Appended : std::uint8_t { Yes, BlockFull };
  /// BlockFull: the record was not appended, because the block has no room, `iteration` is not next(), or another kind
  /// of block begins here. The caller takes closed(), calls start_block() and appends again.
  [[nodiscard]] Appended append(std::uint64_t iteration, Label label, std::span<const std::int64_t> overall);
  /// Appends `count` iterations without vectors; the cost does not depend on their number. BlockFull: those from next()
  /// on were not appended. Where iterations are thinned (keeps_each), only Run::Absent is allowed.
  [[nodiscard]] Appended append_run(std::uint64_t iteration, std::uint64_t count, format::Run what);
  /// Number of the iteration after the last one.
  std::uint64_t next() const { return s_.first + s_.covered + s_.run + grouped_; }
  /// Whether `iteration`, the next one, is not part of a group.
  bool keeps_each(std::uint64_t iteration) const { return grouped_ == 0 && level_at(iteration) == 0; }
  /// Whether the last appended iteration has a record of its own.
  bool keeps_last() const { return keeps_last_; }
  /// Raises the level by this number from the next group on.
  void thin_further(unsigned levels) { coarser_ = levels; }

  /// The block so far, with a complete header and the incomplete group in progress; empty when it has nothing.
  std::span<const std::byte> closed();
  void start_block();

  std::size_t bytes() const { return s_.used; }
  /// First iteration of the first group; level of the last group, 0: there was none.
  std::uint64_t thinned_from() const { return thinned_from_; }
  unsigned level() const { return last_level_; }

 private:
  /// The members that closed() changes temporarily.
  struct State {
    std::size_t used = 0;
    std::uint64_t first = 0;
    std::uint64_t covered = 0;  ///< number of iterations in written records, groups and runs
    std::uint32_t count = 0;    ///< number of records
    std::uint64_t run = 0;      ///< length of the run in progress, which is not written yet
    format::Run run_of{};
    unsigned level = 0;
    bool items = false;                        ///< the block consists of items
    std::int64_t before[2][max_overall] = {};  ///< last values of iterations, and of sums over the others of a group
    std::uint64_t mask_before[2] = {};
    format::RecentLabels recent = {};
  };
  bool is_empty() const { return s_.covered == 0 && s_.run == 0; }
  unsigned level_at(std::uint64_t iteration) const;
  bool begin(std::uint64_t iteration, unsigned level, bool items);
  void put_number(std::uint64_t number);
  void put_run();
  void put_record(unsigned which, Label label, std::span<const std::int64_t> overall);
  void put_group();
  void begin_group(unsigned level);
  void add_to_group(std::uint64_t iteration, Label label, std::span<const std::int64_t> overall);

  platform::Bytes block_;
  State s_;
  std::uint32_t columns_ = 0;
  std::uint8_t order_[max_overall] = {};  ///< columns that are kept exactly, then rounded columns
  std::uint32_t exact_ = 0, kept_ = 0;
  std::size_t longest_ = 0;  ///< maximum number of bytes that one append may write
  std::uint64_t whole_ = all;
  unsigned coarser_ = 0, last_level_ = 0;
  bool had_items_ = false, keeps_last_ = false;
  std::uint64_t thinned_from_ = 0;

  // The group in progress.
  std::uint64_t grouped_ = 0;     ///< number of its iterations so far; 0: there is no group
  bool any_in_group_ = false;     ///< some iteration has a vector
  bool has_kept_ = false;         ///< the iteration that is kept has come
  Label group_label_ = no_label;  ///< of the iteration that is kept; before it comes, of the last one
  std::int64_t kept_row_[max_overall] = {}, others_[max_overall] = {};
};

}  // namespace refrain::clustering
