#pragma once
/// Events of a rank (docs/file-format.md): what its section says of them, and the frames of events-<rank>.refrain.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "events/buffer.hpp"
#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// The section Events. `rank` has its paths. Throws ReadError.
EventsOfRank read_events(SectionReader& in, const Rank& rank);

/// The section SampledMessages, for the locations of `events`. Throws ReadError.
void read_sampled_messages(SectionReader& in, EventsOfRank& events);

/// A piece of a location's events, in the file.
struct EventFrame {
  std::uint16_t version;
  std::int32_t thread;
  events::Context begin;  ///< what the first record is relative to
  std::int64_t end;       ///< ticks of the last record
  std::uint32_t records;
  std::uint64_t offset, size;  ///< in the file, with head and checksum
};

/// The events of one rank in its file.
class EventFile {
 public:
  /// Opens the file, or the place in the profile, and finds the frames, in order of time for each location; only their
  /// heads are looked at. What is damaged goes to the log, and so does a file that is missing or shorter than the rank
  /// says.
  EventFile(const std::filesystem::path& directory, const Rank& rank, const std::shared_ptr<DamageLog>& damage);

  const std::vector<EventFrame>& frames() const { return frames_; }
  std::uint64_t bytes() const { return bytes_; }
  /// The records of a frame, encoded, in place of `records`, whose memory is used again. None: they are damaged, which
  /// goes to the log.
  void read(const EventFrame& frame, std::vector<std::byte>& records) const;
  /// Notes which frames are damaged, as read() does, but quickly.
  void check() const;
  /// Notes that a record in a frame is malformed: those behind it are missing.
  void note_damage(const EventFrame& frame) const;

 private:
  std::string cost_of(const EventFrame& frame) const;
  void find_frames(const InputFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t written);

  std::shared_ptr<const FileSource> source_;  ///< opened again for each frame; null: there is no file
  std::uint64_t bytes_ = 0;
  std::shared_ptr<DamageLog> damage_;
  std::int32_t rank_;
  std::vector<EventFrame> frames_;
};

}  // namespace refrain::experiment
