#pragma once
/// The events of one location of an OTF2 archive, with some kilobytes of its file in memory at a time. The file is open
/// only while it is read, so that there may be more locations than descriptors.

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "offline/trace/event_source.hpp"
#include "offline/trace/otf2_archive.hpp"
#include "offline/trace/otf2_events.hpp"
#include "offline/trace/otf2_file.hpp"

namespace refrain::trace {

class Otf2Stream final : public EventSource {
 public:
  /// `archive` must outlive it. Chunks that end before `from_ns` are skipped; then calls that began there are not
  /// known: paths begin with what was entered since, and a call entered before is known by its region only.
  /// `with_state`: these chunks are read, too, so that everything is known.
  Otf2Stream(const Otf2Archive& archive, std::uint32_t location, std::int64_t from_ns, bool with_state);
  ~Otf2Stream() override;

 private:
  /// What a completion does not contain itself.
  struct Begun {
    events::Kind kind;
    std::int32_t peer, tag, communicator;
    std::uint32_t path;
    std::int64_t time_ns;
  };
  /// Messages, operations on a window and accesses to a file are numbered separately.
  struct RequestKey {
    enum Of : std::uint8_t { Message, Window, File } of;
    std::uint32_t reference;  ///< of the window or file
    std::uint64_t number;
    auto operator<=>(const RequestKey&) const = default;
  };
  struct HashOfRequest {
    std::size_t operator()(const RequestKey& key) const {
      return (key.number * 0x9e3779b97f4a7c15 ^ key.reference) * 4 + key.of;
    }
  };
  struct Open {
    std::uint32_t region, path;
  };
  void make_some() override;
  void find_chunk(std::int64_t from_ns);
  bool step();
  bool next_chunk();
  /// The rest of the chunk is damaged. False: nothing follows it.
  bool fail();
  bool finish();
  void take(Otf2Event kind, Otf2Bytes& in);
  void take_rma(Otf2Event kind, Otf2Bytes& in);
  void take_threads(Otf2Event kind, Otf2Bytes& in);
  void take_io(Otf2Event kind, Otf2Bytes& in);
  void take_metric(Otf2Bytes& in);
  void take_parameter(Otf2Event kind, Otf2Bytes& in);
  void set_time(std::uint64_t ticks);
  std::uint64_t corrected(std::uint64_t ticks);
  void end_flush(std::int64_t before_ns);
  Event& emit(Type type);
  Event& emit(events::Kind kind, events::Phase phase);
  void emit_gap(std::uint64_t records);
  void enter(std::uint32_t region);
  void leave(std::uint32_t region);
  void enter(Open open);
  void begin_collective(Type type);
  /// The event that the operation's begin made, or a new one.
  Event& end_collective(Type type);
  void begin(Event& event, const RequestKey& key);
  /// The event of a completion, with what is known of its begin. `kind`: applies when nothing is known.
  Event& complete(const RequestKey& key, events::Phase phase, events::Kind kind);
  std::uint32_t child_of(std::uint32_t parent, std::uint32_t region);
  std::uint32_t top() const { return stack_.empty() ? no_path : stack_.back().path; }
  std::uint64_t global(unsigned kind_of_reference, std::uint64_t reference) const;
  // The global index for a reference of this location; when it is not defined, 0 (a region) or -1.
  std::uint32_t region_index(std::uint32_t reference) const;
  std::int32_t communicator_index(std::uint32_t reference) const;
  std::int32_t window_index(std::uint32_t reference) const;

  struct Known {
    std::uint32_t parent = 0, region = ReferenceMap::none, path = 0;
  };

  const Otf2Archive& archive_;
  const std::uint32_t location_;
  Otf2File file_;
  const Otf2OfLocation own_;
  std::size_t clock_interval_ = 0;
  bool is_over_ = false, is_damaged_ = false;
  std::uint64_t read_ = 0;  ///< events so far, including those of skipped chunks
  std::int64_t time_ns_ = 0;
  std::vector<Open> stack_;
  std::vector<Known> known_paths_;  ///< cache, by a hash; the tree itself takes a lock
  std::unordered_map<RequestKey, Begun, HashOfRequest> begun_;
  bool is_flushing_ = false;
  std::int64_t flush_end_ns_ = 0;
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();  ///< no place
  std::size_t collective_ = none;                 ///< place of the event of an operation that has begun
  std::vector<std::int64_t> iteration_begin_ns_;  ///< by parameter; in Refrain's archives
  std::uint64_t left_out_[256] = {};
};

}  // namespace refrain::trace
