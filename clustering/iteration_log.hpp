#pragma once
/// The exact vector and the label of every iteration, packed into blocks that go to a file.
///
/// A block is decodable by itself; docs/file-format.md describes it. Iterations of a block are consecutive. Columns
/// that are not kept take no room.
///
/// Iterations without a vector of their own, because the thread recorded nothing in them or was not there, are runs: a
/// number each, whatever their length.
///
/// A long loop is thinned as it goes (format::log_level_at): one iteration of a group of 2^level is kept, as
/// format::KeptIterations says, and the sum over the others beside it, so all sums stay exact. What has been written
/// never changes. The room grows with the logarithm of the number of iterations.
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

  /// Once. `whole`: a power of two, so many iterations are kept one by one. False: no memory, more than max_overall
  /// columns, a block too small for what may have to be written at once, or `whole` is no power of two.
  [[nodiscard]] bool create(std::span<const Precision> columns, std::size_t block_bytes = 32768,
                            std::uint64_t whole = all);

  enum class Appended : std::uint8_t { Yes, BlockFull };
  /// BlockFull: the record is not in: the block has no room, `iteration` does not follow the last one, or blocks of
  /// another kind begin here. Take closed(), call start_block() and append again.
  [[nodiscard]] Appended append(std::uint64_t iteration, Label label, std::span<const std::int64_t> overall);
  /// `count` iterations without vectors. Costs the same however many they are. BlockFull: those from next() on are not
  /// in. Where iterations are thinned (keeps_each), only those without a thread can be told like this.
  [[nodiscard]] Appended append_run(std::uint64_t iteration, std::uint64_t count, format::Run what);
  /// Number of the iteration behind the last one.
  std::uint64_t next() const { return s_.first + s_.covered + s_.run + grouped_; }
  /// Whether `iteration`, the next one, is not one of a group.
  bool keeps_each(std::uint64_t iteration) const { return grouped_ == 0 && level_at(iteration) == 0; }
  /// Whether the last iteration that was appended is kept by itself.
  bool keeps_last() const { return keeps_last_; }
  /// From the next group on the level is higher by so much.
  void thin_further(unsigned levels) { coarser_ = levels; }

  /// The block so far, with its header complete, and with what there is of the group in progress; empty when it has
  /// nothing.
  std::span<const std::byte> closed();
  void start_block();

  std::size_t bytes() const { return s_.used; }
  /// First iteration of the first group, and the level of the last one; 0: there was none.
  std::uint64_t thinned_from() const { return thinned_from_; }
  unsigned level() const { return last_level_; }

 private:
  /// What closed() changes for a moment.
  struct State {
    std::size_t used = 0;
    std::uint64_t first = 0;
    std::uint64_t covered = 0;  ///< iterations that are written, of records, groups and runs
    std::uint32_t count = 0;    ///< records
    std::uint64_t run = 0;      ///< length of the run in progress, which is not written yet
    format::Run run_of{};
    unsigned level = 0;
    bool items = false;                        ///< a block of items
    std::int64_t before[2][max_overall] = {};  ///< of iterations, and of sums over the others of a group
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
  std::uint8_t order_[max_overall] = {};  ///< columns kept exactly, then those that are rounded
  std::uint32_t exact_ = 0, kept_ = 0;
  std::size_t longest_ = 0;  ///< bytes that one append may write
  std::uint64_t whole_ = all;
  unsigned coarser_ = 0, last_level_ = 0;
  bool had_items_ = false, keeps_last_ = false;
  std::uint64_t thinned_from_ = 0;

  // The group in progress.
  std::uint64_t grouped_ = 0;     ///< iterations of it so far; 0: there is none
  bool any_in_group_ = false;     ///< with a vector
  bool has_kept_ = false;         ///< the one that is kept
  Label group_label_ = no_label;  ///< of the one that is kept; until then of the last one
  std::int64_t kept_row_[max_overall] = {}, others_[max_overall] = {};
};

}  // namespace refrain::clustering
