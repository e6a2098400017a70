#pragma once
/// Reads the events of a rank (docs/file-format.md): the sections that describe them, and the frames of
/// events-<rank>.refrain.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "events/buffer.hpp"
#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// Reads the section Events. `rank.paths` must be set. Throws ReadError.
EventsOfRank read_events(SectionReader& in, const Rank& rank);

/// Reads the section SampledMessages into the locations of `events`. Throws ReadError.
void read_sampled_messages(SectionReader& in, EventsOfRank& events);

/// A frame in the file, which holds a part of a location's events.
struct EventFrame {
  std::int32_t thread;
  events::Context begin;  ///< context that the first record is relative to
  std::int64_t end;       ///< ticks of the last record
  std::uint32_t records;
  std::uint64_t offset, size;  ///< in the file, with head and checksum
};

/// The events of one rank in its file.
class EventFile {
 public:
  /// Opens the file, or the frames in the profile, and finds the frames, in time order for each location. Reads only
  /// their heads. Logs damage; a file that is missing or shorter than the rank says is damage too.
  EventFile(const std::filesystem::path& directory, const Rank& rank, const std::shared_ptr<DamageLog>& damage);

  const std::vector<EventFrame>& frames() const { return frames_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Replaces `records` with the encoded records of a frame and reuses its memory. Leaves it empty when the frame is
  /// damaged, which is logged.
  void read(const EventFrame& frame, std::vector<std::byte>& records) const;
  /// Logs damaged frames as read() does, but only verifies checksums, which is faster.
  void check() const;
  /// Logs that a record in a frame is malformed, so that the records after it are missing.
  void note_damage(const EventFrame& frame) const;

 private:
  std::string cost_of(const EventFrame& frame) const;
  void find_frames(const InputFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t written);

  std::shared_ptr<const FileSource> source_;  ///< reopened for each frame; null: there is no file
  std::uint64_t bytes_ = 0;
  std::shared_ptr<DamageLog> damage_;
  std::int32_t rank_;
  std::vector<EventFrame> frames_;
};

}  // namespace refrain::experiment
