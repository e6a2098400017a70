#include "record/writer.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include "config/line.hpp"
#include "format/checksum.hpp"
#include "record/error_text.hpp"
#include "record/output_file.hpp"
#include "record/rank_encoder.hpp"
#include "record/tree_exchange.hpp"

namespace refrain::record {

namespace {

using measurement::Peers;
using platform::Bytes;
using Numbers = GrowableArray<std::uint32_t>;

/// The encoded data of one rank, which lacks only its offset in the file and its unified path numbers.
struct RankData {
  DefinitionSet definitions;
  BlockBuilder block;
  std::uint32_t own_paths = 0;  ///< paths [0, own_paths) of `definitions` are the rank's own

  bool create(const RankRecord& record) {
    if (!encode_rank(record, definitions, block)) return false;
    own_paths = definitions.paths();
    return true;
  }
  std::uint64_t block_size() const { return block.size_with(1, own_paths * sizeof(std::uint32_t)); }
};

/// Writes the file's header into an empty `out`. False: no memory.
bool make_header(Bytes& out, std::uint32_t flags, std::uint32_t ranks, std::uint32_t entries,
                 std::uint64_t definitions_size) {
  Encoder encoder(out);
  encoder.raw(format::magic, sizeof format::magic);
  encoder.fixed(format::endianness_mark);
  encoder.fixed(format::major_version);
  encoder.fixed(format::minor_version);
  encoder.fixed(static_cast<std::uint32_t>(format::header_size));
  encoder.fixed(flags);
  encoder.fixed(ranks);
  encoder.fixed(entries);
  encoder.fixed(std::uint64_t{format::header_size});  // the rank table
  encoder.fixed(std::uint64_t{format::header_size + entries * format::rank_entry_size});
  encoder.fixed(definitions_size);
  encoder.fixed(format::checksum(out.data(), out.size()));
  return !encoder.failed();
}

/// Builds the head of a file up to the first rank's block: header, empty rank table, definitions.
bool build_head(const DefinitionSet& definitions, std::uint32_t flags, std::uint32_t ranks, std::uint32_t entries,
                Bytes& out, std::uint64_t& definitions_size) {
  BlockBuilder builder;
  Bytes table;
  if (!encode_definitions(definitions, builder) || !builder.put_table(table)) return false;
  definitions_size = table.size() + builder.payloads().size();
  return make_header(out, flags, ranks, entries, definitions_size) &&
         out.resize(out.size() + entries * format::rank_entry_size) && out.append(table.data(), table.size()) &&
         out.append(builder.payloads().data(), builder.payloads().size());
}

/// Makes what a rank's block lacks until its offset in the file is known: its section table, and its entry in the rank
/// table. False: no memory.
bool finish_block(RankData& data, std::uint32_t rank, std::uint64_t offset, std::span<const std::uint32_t> unified,
                  Bytes& table, Bytes& entry) {
  if (!add_path_mapping(unified, data.block) || !data.block.put_table(table)) return false;
  Encoder encoder(entry);
  encoder.fixed(rank);
  encoder.fixed(format::flag_rank_present);
  encoder.fixed(offset);
  encoder.fixed(std::uint64_t{table.size() + data.block.payloads().size()});
  encoder.fixed(format::checksum(entry.data(), entry.size()));
  return !encoder.failed();
}

constexpr const char* part_name_begin = "part-";

enum class Alone { Part, WholeProfile };

/// Writes a file of this rank alone and puts it in place in one step. The measurement is encoded anew, because a failed
/// unification may have left paths of other ranks among the definitions.
WriteOutcome write_alone(const RankRecord& record, const char* directory, Alone kind) {
  const bool is_whole = kind == Alone::WholeProfile;
  const RankFileName part(part_name_begin, record.rank);
  RankData data;
  DefinitionSet sorted;
  Numbers unified;
  Bytes head, table, entry;
  std::uint64_t definitions_size = 0;
  int error = ENOMEM;
  if (data.create(record) && data.definitions.sort_into(sorted, unified) &&
      build_head(sorted, is_whole ? format::flag_complete : 0, static_cast<std::uint32_t>(record.ranks), 1, head,
                 definitions_size) &&
      finish_block(data, static_cast<std::uint32_t>(record.rank), head.size(), {unified.data(), data.own_paths}, table,
                   entry)) {
    std::memcpy(head.data() + format::header_size, entry.data(), entry.size());
    error = write_whole(directory, is_whole ? format::profile_name : part.text, is_whole ? O_EXCL : O_TRUNC,
                        {head.view(), table.view(), data.block.payloads()});
  }
  WriteOutcome outcome{};
  outcome.written = error == 0;
  (is_whole ? outcome.complete : outcome.in_part) = outcome.written;
  if (outcome.written) return outcome;
  config::Line line(outcome.line, sizeof outcome.line);
  line << "the profile of rank " << std::int64_t{record.rank} << " cannot be written to '";
  line.foreign(directory, 600) << "': " << error_text(error);
  return outcome;
}

/// How the ranks of a subtree fared. It travels up the tree.
struct Tally {
  std::uint32_t apart = 0;       ///< ranks whose data is not in profile.refrain
  std::uint32_t lost = 0;        ///< how many of these have written no data at all
  std::uint32_t first_rank = 0;  ///< the lowest rank that is apart
  std::int32_t first_error = 0;

  void add(const Tally& other) {
    if (other.apart != 0 && (apart == 0 || other.first_rank < first_rank)) {
      first_rank = other.first_rank;
      first_error = other.first_error;
    }
    apart += other.apart;
    lost += other.lost;
  }
};

/// One parallel write. The ranks exchange three times over their tree: unify(), assign_offsets() and tell(), in this
/// order. Each rank knows the size of its block before the first exchange, so nothing else has to be exchanged.
class ParallelWrite {
 public:
  ParallelWrite(const RankRecord& record, const Peers& peers, const char* directory, std::int64_t deadline)
      : record_(record),
        peers_(peers),
        directory_(directory),
        deadline_(deadline),
        position_(position_in_tree(peers.rank, peers.size)) {}

  /// Up the tree: definitions and sizes of the subtrees. A rank that cannot go on says so, so that nobody has to wait
  /// for the deadline to find out; then there is no common file.
  void unify() {
    encoded_ = data_.create(record_);
    subtree_bytes_ = encoded_ ? data_.block_size() : 0;
    heard_ = receive_from_children(peers_, position_, deadline_, [&](int child, const Bytes& message) {
      absorb_child(child, message);
      return true;
    });
    encoded_ = encoded_ && heard_;
    if (position_.parent >= 0) send_definitions();
  }

  /// Down the tree: the offset of each subtree in the file, and the unified numbers of its paths. Rank 0 makes the file
  /// first. False: the exchange failed. Afterwards can_write() says whether there is a file. A child that cannot be
  /// reached finds out by itself, and the others are not affected.
  bool assign_offsets() {
    if (position_.parent < 0) {
      if (encoded_) start_file();
    } else {
      Bytes message;
      if (!peers_.receive(peers_.state, position_.parent, message, deadline_)) return false;
      read_offsets(message);
    }
    std::uint64_t child_base[32];
    std::uint64_t next = base_ + (encoded_ ? data_.block_size() : 0);
    for (int i = 0; i < position_.children; ++i) {
      child_base[i] = next;
      next += child_bytes_[i];
    }
    for (int i = position_.children; i-- > 0;) send_offsets(i, child_base[i]);
    return heard_;
  }

  bool can_write() const { return has_offset_; }
  int head_error() const { return head_error_; }

  /// Writes this rank's block, then its entry in the rank table, so that the entry never refers to a missing block.
  /// Returns 0 or the errno value.
  int write_own() {
    if (position_.parent >= 0 && !file_.open(directory_, format::profile_name, 0)) return file_.error;
    const auto rank = static_cast<std::uint32_t>(record_.rank);
    const std::uint64_t entry_at =
        format::header_size + static_cast<std::uint64_t>(peers_.rank) * format::rank_entry_size;
    Bytes table, entry;
    if (!finish_block(data_, rank, base_, {unified_.data(), data_.own_paths}, table, entry)) return ENOMEM;
    const BlockBuilder::Payload payloads = data_.block.payloads();
    if (!file_.write_at(table.data(), table.size(), base_) ||
        !file_.write_at(payloads.data(), payloads.size(), base_ + table.size()) ||
        !file_.write_at(entry.data(), entry.size(), entry_at))
      return file_.error;
    return position_.parent < 0 || file_.close() ? 0 : file_.error;
  }

  /// Up the tree: which ranks failed. On rank 0 the tally becomes that of the job. False: the exchange failed.
  bool tell(Tally& tally) {
    const bool heard = receive_from_children(peers_, position_, deadline_, [&](int, const Bytes& message) {
      Tally child;
      if (message.size() != sizeof child) return false;
      std::memcpy(&child, message.data(), sizeof child);
      tally.add(child);
      return true;
    });
    if (!heard || position_.parent < 0) return heard;
    Bytes message;
    return message.append(reinterpret_cast<const std::byte*>(&tally), sizeof tally) &&
           peers_.send(peers_.state, position_.parent, message, deadline_);
  }

  /// Marks the file complete; on rank 0, at the end. Returns 0 or the errno value.
  int finish(bool complete) {
    const auto ranks = static_cast<std::uint32_t>(peers_.size);
    Bytes header;
    if (complete && !make_header(header, format::flag_complete, ranks, ranks, definitions_size_)) return ENOMEM;
    if (!file_.write_at(header.data(), header.size(), 0)) return file_.error;
    return file_.close() ? 0 : file_.error;
  }

 private:
  void absorb_child(int child, const Bytes& message) {
    format::ByteCursor in(message.view());
    const bool child_encoded = in.fixed<std::uint32_t>() != 0;
    child_bytes_[child] = in.fixed<std::uint64_t>();
    subtree_bytes_ += child_bytes_[child];
    if (!child_encoded || !encoded_ || !data_.definitions.absorb(in, child_paths_[child])) encoded_ = false;
  }

  void send_definitions() {
    Bytes message;
    Encoder out(message);
    out.fixed(static_cast<std::uint32_t>(encoded_));
    out.fixed(subtree_bytes_);
    if (encoded_) {
      data_.definitions.encode_regions(out);
      data_.definitions.encode_modules(out);
      data_.definitions.encode_paths(out);
    }
    // A message that is truncated for lack of memory, or does not arrive, is a failure at the parent.
    (void)peers_.send(peers_.state, position_.parent, message, deadline_);
  }

  void start_file() {
    DefinitionSet sorted;
    Bytes head;
    const auto ranks = static_cast<std::uint32_t>(peers_.size);
    if (!data_.definitions.sort_into(sorted, unified_) ||
        !build_head(sorted, 0, ranks, ranks, head, definitions_size_)) {
      head_error_ = ENOMEM;
    } else if (!file_.open(directory_, format::profile_name, O_CREAT | O_EXCL)) {
      head_error_ = file_.error;
    } else if (!file_.write_at(head.data(), head.size(), 0)) {
      head_error_ = file_.error;
      file_.close();
      remove_from(directory_, format::profile_name);
    }
    base_ = head.size();
    has_offset_ = head_error_ == 0;
  }

  void read_offsets(const Bytes& message) {
    format::ByteCursor in(message.view());
    has_offset_ = in.fixed<std::uint32_t>() != 0;
    base_ = in.fixed<std::uint64_t>();
    if (!has_offset_) return;
    has_offset_ = encoded_ && in.remaining() == data_.definitions.paths() * sizeof(std::uint32_t) &&
                  unified_.resize(data_.definitions.paths());
    for (auto& number : unified_) number = in.fixed<std::uint32_t>();
  }

  void send_offsets(int child, std::uint64_t base) {
    Bytes message;
    Encoder out(message);
    out.fixed(static_cast<std::uint32_t>(has_offset_));
    out.fixed(base);
    if (has_offset_)
      for (std::uint32_t path : child_paths_[child]) out.fixed(unified_[path]);
    (void)peers_.send(peers_.state, position_.child[child], message, deadline_);
  }

  const RankRecord& record_;
  const Peers& peers_;
  const char* directory_;
  std::int64_t deadline_;
  TreePosition position_;

  RankData data_;
  bool heard_ = false;       ///< all children answered
  bool encoded_ = false;     ///< `data_.definitions` has this rank and its whole subtree
  bool has_offset_ = false;  ///< there is a file, and this rank knows its offset in it
  Numbers child_paths_[32];
  std::uint64_t child_bytes_[32] = {};
  std::uint64_t subtree_bytes_ = 0;

  OutputFile file_;
  int head_error_ = 0;
  std::uint64_t definitions_size_ = 0;
  std::uint64_t base_ = 0;
  Numbers unified_;
};

void say_job_failure(WriteOutcome& outcome, const char* directory, const Tally& tally, int ranks) {
  config::Line line(outcome.line, sizeof outcome.line);
  const bool one = tally.apart == 1;
  line << "'";
  line.foreign(directory, 600) << "/" << format::profile_name << "' lacks ";
  if (!one) line << std::int64_t{tally.apart} << " of " << std::int64_t{ranks} << " ranks, the first is ";
  line << "rank " << std::int64_t{tally.first_rank} << " (" << error_text(tally.first_error) << "); ";
  if (tally.lost == 0) line << (one ? "it is in a file of its own" : "they are in files of their own");
  else if (one) line << "its data is lost";
  else line << "the data of " << std::int64_t{tally.lost} << " is lost";
}

void say_silence(WriteOutcome& outcome, const char* directory) {
  config::Line line(outcome.line, sizeof outcome.line);
  line << "'";
  line.foreign(directory, 600) << "' is incomplete: not all ranks answered before REFRAIN_FINALIZE_TIMEOUT; each rank "
                                  "that got here wrote its own profile";
}

WriteOutcome write_together(const RankRecord& record, const Peers& peers, const char* directory,
                            std::int64_t deadline) {
  const bool root = peers.rank == 0;
  ParallelWrite write(record, peers, directory, deadline);
  write.unify();
  if (!write.assign_offsets()) {
    WriteOutcome outcome = write_alone(record, directory, Alone::Part);
    if (root && outcome.written) say_silence(outcome, directory);
    return outcome;
  }

  WriteOutcome outcome{};
  Tally tally;
  const int error = write.can_write() ? write.write_own() : write.head_error() != 0 ? write.head_error() : ENOMEM;
  outcome.written = error == 0;
  if (error != 0) {
    outcome = write_alone(record, directory, Alone::Part);
    tally = {1, outcome.written ? 0u : 1u, static_cast<std::uint32_t>(record.rank), error};
  }
  const bool told = write.tell(tally);
  if (!root) {
    if (told) outcome.line[0] = '\0';  // rank 0 prints one line for all
    return outcome;
  }
  outcome.complete = told && tally.apart == 0;
  const int end_error = write.can_write() ? write.finish(outcome.complete) : 0;
  if (end_error != 0) {
    if (tally.apart == 0) tally = {1, 0, 0, end_error};
    outcome.complete = false;
  }
  if (!told) say_silence(outcome, directory);
  else if (!outcome.complete) say_job_failure(outcome, directory, tally, peers.size);
  return outcome;
}

}  // namespace

WriteOutcome write_profile(const RankRecord& record, const Peers& peers, const char* directory,
                           std::int64_t deadline_monotonic_ns) {
  const ErrnoKeeper keeper;
  const FileSizeSignalBlocker blocker;
  if (peers.size > 1) return write_together(record, peers, directory, deadline_monotonic_ns);
  return write_alone(record, directory, record.ranks > 1 ? Alone::Part : Alone::WholeProfile);
}

WriteOutcome write_part(const RankRecord& record, const char* directory) {
  const ErrnoKeeper keeper;
  const FileSizeSignalBlocker blocker;
  return write_alone(record, directory, Alone::Part);
}

void remove_part(const char* directory, std::int32_t rank) {
  const ErrnoKeeper keeper;
  remove_from(directory, RankFileName(part_name_begin, rank).text);
}

}  // namespace refrain::record
