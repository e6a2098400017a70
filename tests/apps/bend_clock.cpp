/// Rewrites the events of one rank as if its machine's clock had run unevenly: right when the clocks were compared, in
/// MPI_Init and in MPI_Finalize, ahead by so much in the middle, and smooth in between. Usage: bend_clock EXPERIMENT
/// RANK NANOSECONDS

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include "events/codec.hpp"
#include "format/bytes.hpp"
#include "format/event_file.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/events_reader.hpp"
#include "offline/experiment/experiment.hpp"

namespace {

using namespace refrain;

struct Bend {
  double first, last, ticks;
  std::int64_t of(std::int64_t time) const {
    const double place = std::clamp((static_cast<double>(time) - first) / (last - first), 0.0, 1.0);
    const double sine = std::sin(std::numbers::pi * place);
    return time + std::llround(ticks * sine * sine);
  }
};

template <class T>
void put(std::vector<std::byte>& out, T value) {
  out.resize(out.size() + sizeof value);
  format::store_little_endian(out.data() + out.size() - sizeof value, value);
}

/// Not compressed, so that the file is not shorter than the rank says.
std::vector<std::byte> bent(const experiment::EventFrame& frame, std::span<const std::byte> records, const Bend& bend) {
  events::Context in = frame.begin, out = frame.begin;
  out.time = bend.of(in.time);
  const events::Context begin = out;
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < records.size();) {
    events::Record record;
    const std::size_t size = events::decode(records.subspan(at), in, record);
    if (size == 0) std::exit(3);
    at += size;
    record.time = bend.of(record.time);
    record.begin = bend.of(record.begin);
    const std::size_t end = bytes.size();
    bytes.resize(end + events::longest_record);
    bytes.resize(end + events::encode(record, out, bytes.data() + end));
  }
  std::vector<std::byte> whole;
  put(whole, format::event_magic);
  put(whole, format::event_version);
  put(whole, static_cast<std::uint16_t>(format::Encoding::Raw));
  put(whole, frame.thread);
  put(whole, frame.records);
  put(whole, begin.time);
  put(whole, begin.request);
  put(whole, begin.node);
  put(whole, std::uint32_t{0});
  put(whole, bend.of(frame.end));
  put(whole, std::uint64_t{bytes.size()});
  put(whole, std::uint64_t{bytes.size()});
  format::store_little_endian(
      whole.data() + format::head_checksum_offset,
      format::head_checksum(std::span<const std::byte, format::event_head_size>(whole.data(), whole.size())));
  whole.insert(whole.end(), bytes.begin(), bytes.end());
  put(whole, format::checksum(whole.data(), whole.size()));
  return whole;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  const auto experiment = experiment::Experiment::open(argv[1]);
  const auto rank = experiment->rank(static_cast<std::size_t>(std::atoi(argv[2])), experiment::Depth::Run);
  const experiment::EventsOfRank& events = *rank->events;
  // In between nothing was compared.
  const std::int64_t middle = events.first.monotonic_ns + (events.last.monotonic_ns - events.first.monotonic_ns) / 2;
  std::int64_t first_ns = events.first.monotonic_ns, last_ns = events.last.monotonic_ns;
  for (const experiment::EventsOfRank::ClockOffset& of : events.clock_offsets)
    if (of.at_ns < middle) first_ns = std::max(first_ns, of.at_ns);
    else last_ns = std::min(last_ns, of.at_ns);
  const auto ticks_at = [&](std::int64_t ns) {
    const double share = static_cast<double>(ns - events.first.monotonic_ns) /
                         static_cast<double>(events.last.monotonic_ns - events.first.monotonic_ns);
    return static_cast<double>(events.first.ticks) +
           share * static_cast<double>(events.last.ticks - events.first.ticks);
  };
  const Bend bend{ticks_at(first_ns), ticks_at(last_ns), std::atof(argv[3]) * rank->ticks_per_second / 1e9};
  std::vector<std::byte> all;
  {
    const experiment::EventFile file(experiment->directory(), *rank, experiment->damage_log());
    for (const experiment::EventFrame& frame : file.frames()) {
      std::vector<std::byte> records;
      file.read(frame, records);
      const auto frame_bytes = bent(frame, records, bend);
      all.insert(all.end(), frame_bytes.begin(), frame_bytes.end());
    }
  }
  const auto path = experiment->directory() /
                    (format::events_name_begin + std::to_string(rank->rank) + std::string(format::events_name_end));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  return out.good() ? 0 : 2;
}
