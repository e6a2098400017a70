// A damaged OTF2 archive may cost what is damaged, but neither the program nor its time. Mutations are the same in
// every run.

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <unistd.h>

#include "offline/patterns/path_names.hpp"
#include "offline/trace/event_model.hpp"
#include "offline/trace/trace.hpp"
#include "unit/trace/archive_writer.hpp"

namespace refrain::trace {
namespace {

using Bytes = std::vector<char>;

Bytes bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}
void write_bytes(const std::filesystem::path& file, const Bytes& bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void mutate(Bytes& bytes) {
    for (std::size_t times = 1 + below(3); times > 0 && !bytes.empty(); --times) {
      const std::size_t at = below(bytes.size());
      const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
      switch (below(8)) {
        case 0: bytes.resize(at); break;
        case 1:
          bytes.erase(place,
                      place + static_cast<std::ptrdiff_t>(std::min<std::size_t>(1 + below(20), bytes.size() - at)));
          break;
        case 2: bytes.insert(place, 1 + below(20), static_cast<char>(below(256))); break;
        case 3: *place = static_cast<char>(0xff); break;
        case 4: *place = static_cast<char>(below(16)); break;  // ends, marks, sizes
        case 5: std::fill_n(place, std::min<std::size_t>(8, bytes.size() - at), static_cast<char>(0xff)); break;
        default: *place = static_cast<char>(*place ^ (1 << below(8)));
      }
    }
  }

 private:
  std::mt19937 random_;
};

class Otf2Mutations : public testing::Test {
 protected:
  Otf2Mutations() : directory_(testing::TempDir() + "otf2-mutations-" + std::to_string(getpid())) {}
  ~Otf2Mutations() override { std::filesystem::remove_all(directory_); }

  /// Reads all that can be read, three ways, and searches some of it. Counts the events of the former.
  static std::uint64_t read(const std::filesystem::path& anchor, bool is_searched = true) {
    const auto trace = Trace::open_archive(anchor);
    if (is_searched) {
      search(*trace);
      follow_links(trace);
    }
    std::uint64_t events = 0;
    for (const auto& [from, start] : {std::pair{Trace::from_begin, Trace::Start::Jump},
                                      {std::int64_t{30}, Trace::Start::Jump},
                                      {std::int64_t{30}, Trace::Start::FromBegin}}) {
      auto reader = trace->read({}, from, start);
      std::int64_t last = std::numeric_limits<std::int64_t>::min();
      while (const Event* event = reader.next()) {
        EXPECT_LE(last, event->time_ns);
        EXPECT_LT(event->location, trace->locations().size());
        last = event->time_ns;
        (void)trace->region_of(event->path);
        const std::int32_t rank = trace->locations()[event->location].rank;
        (void)trace->communicators().rank_of(rank, event->record.communicator, event->record.peer);
        ++events;
      }
    }
    return events;
  }

  static void search(const Trace& trace) {
    const patterns::PathNames names(trace);
    patterns::Request request;
    request.with_causes = request.with_critical_path = true;
    const patterns::Analysis analysis = patterns::analyse(trace, names.naming(), request);
    for (const patterns::PatternResult& of : analysis.patterns) {
      EXPECT_GE(of.all.ns, 0) << of.about.name;
      EXPECT_TRUE(of.confidence >= 0 && of.confidence <= 1) << of.about.name << " " << of.confidence;
    }
  }

  static void follow_links(const std::shared_ptr<const Trace>& trace) {
    EventModel model(trace);
    Position position = 0;
    for (; const LinkedEvent* event = model.event(position); ++position) {
      EXPECT_EQ(position, event->position);
      for (const Position link : {event->enter, event->send, event->begin})
        EXPECT_TRUE(link == no_position || link <= position);
    }
    EXPECT_EQ(position, model.size());
    for (Position back = position; back-- > 0; back -= std::min<Position>(back, 40)) {
      EXPECT_EQ(back, model.event(back)->position);
      EXPECT_LE(model.stack(back, 0).size(), back + 1);
      EXPECT_LE(model.queue(back).size(), back + 1);
    }
  }

  void mutate_files_of(const std::filesystem::path& archive, unsigned mutations, unsigned seed) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(archive))
      if (entry.is_regular_file() && entry.path().extension() != ".cubex") files.push_back(entry.path());
    std::ranges::sort(files);
    std::vector<Bytes> whole;
    std::size_t bytes = 0;
    for (const auto& file : files) bytes += whole.emplace_back(bytes_of(file)).size();
    const std::filesystem::path anchor = *find_otf2_anchor(archive);
    EXPECT_GT(read(anchor), 100u);
    Mutator mutator(seed);
    unsigned refused = 0, shown = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < mutations; ++i) {
      const std::size_t chosen = mutator.below(files.size());
      Bytes mutated = whole[chosen];
      mutator.mutate(mutated);
      write_bytes(files[chosen], mutated);
      try {
        constexpr unsigned searched = 3;  // one of so many
        EXPECT_LE(read(anchor, i % searched == 0), 3 * (bytes + 100)) << "an event takes a byte at least";
        ++shown;
      } catch (const experiment::ReadError&) {
        ++refused;
      }
      write_bytes(files[chosen], whole[chosen]);
    }
    EXPECT_GT(shown, mutations / 10);
    EXPECT_GT(refused, mutations / 50);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60)) << "mutations that cost time";
  }

  std::filesystem::path directory_;
};

TEST_F(Otf2Mutations, each_kind_of_event) {
  ArchiveWriter archive(directory_);
  write_all_kinds(archive);
  mutate_files_of(directory_, 4000, 1);
}

TEST_F(Otf2Mutations, those_of_other_tools) {
  const std::filesystem::path traces = std::filesystem::path(SOURCE_DIRECTORY).parent_path() / "shared" / "traces";
  if (!std::filesystem::exists(traces)) GTEST_SKIP() << traces << " is not there";
  unsigned seed = 2;
  for (const char* name : {"10_scorep_mpi_tags", "1_scorep-ompt-host-nested", "ping-pong-otf2-papi"}) {
    std::filesystem::remove_all(directory_);
    std::filesystem::copy(traces / name, directory_, std::filesystem::copy_options::recursive);
    mutate_files_of(directory_, 2000, seed++);
  }
}

}  // namespace
}  // namespace refrain::trace
