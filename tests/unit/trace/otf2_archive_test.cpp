// Archives that libotf2 has written, with what Score-P's traces of the other tests do not have. How their clocks and
// references are to be understood is asked of libotf2's own reader.

#include <fstream>
#include <gtest/gtest.h>
#include <otf2/otf2.h>
#include <sys/resource.h>
#include <unistd.h>

#include "offline/trace/trace.hpp"
#include "unit/trace/archive_writer.hpp"

namespace refrain::trace {
namespace {

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() : directory_(testing::TempDir() + "archive-" + std::to_string(getpid())) {}
  ~ArchiveTest() override { std::filesystem::remove_all(directory_); }

  static void group(OTF2_GlobalDefWriter* writer, OTF2_GroupRef self, OTF2_GroupType type,
                    const std::vector<std::uint64_t>& members, OTF2_Paradigm paradigm = OTF2_PARADIGM_MPI) {
    OTF2_GlobalDefWriter_WriteGroup(writer, self, OTF2_UNDEFINED_STRING, type, paradigm, OTF2_GROUP_FLAG_NONE,
                                    static_cast<std::uint32_t>(members.size()), members.data());
  }
  /// "0 enter 5" for each event: location, word, time.
  static std::vector<std::string> words_of(Trace::Reader reader) {
    std::vector<std::string> words;
    while (const Event* event = reader.next()) {
      std::string word = event->type == Type::Communication
                             ? std::string(name_of(event->record.kind)) + "_" + name_of(event->record.phase)
                             : name_of(event->type);
      words.push_back(std::to_string(event->location) + " " + word + " " + std::to_string(event->time_ns));
    }
    return words;
  }

  std::filesystem::path directory_;
};

TEST_F(ArchiveTest, an_archive_without_events) {
  ArchiveWriter archive(directory_);
  archive.events(7, [](OTF2_EvtWriter*) {});
  archive.close([](OTF2_GlobalDefWriter*) {});
  const auto trace = Trace::open_archive(archive.anchor());
  ASSERT_EQ(1u, trace->locations().size());
  EXPECT_EQ("n1", trace->locations()[0].host);
  EXPECT_EQ(nullptr, trace->read().next());
  EXPECT_EQ(0u, trace->damage().count());
}

TEST_F(ArchiveTest, an_archive_without_locations) {
  ArchiveWriter archive(directory_);
  archive.close([](OTF2_GlobalDefWriter*) {}, false);
  const auto trace = Trace::open_archive(archive.anchor());
  EXPECT_TRUE(trace->locations().empty());
  EXPECT_EQ(nullptr, trace->read().next());
}

TEST_F(ArchiveTest, names_cannot_control_the_terminal) {
  ArchiveWriter archive(directory_);
  archive.events(0, [&](OTF2_EvtWriter* writer) {
    OTF2_EvtWriter_Enter(writer, nullptr, 10, 1);
    OTF2_EvtWriter_Leave(writer, nullptr, 20, 1);
  });
  archive.close([&](OTF2_GlobalDefWriter* writer) { archive.region(writer, 1, "clear\x1b[2Jed"); });
  const auto trace = Trace::open_archive(archive.anchor());
  auto reader = trace->read({{0}});
  const Event* event = reader.next();
  while (event && event->type != Type::Enter) event = reader.next();
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(trace->region(event->path).name, "clear\xef\xbf\xbd[2Jed");
}

TEST_F(ArchiveTest, references_are_sparse_and_names_may_be_missing) {
  constexpr OTF2_LocationRef a = 0xfffffffffffffff0, b = std::uint64_t{1} << 40;
  constexpr OTF2_RegionRef far = 0xfffffff0;
  ArchiveWriter archive(directory_);
  for (const OTF2_LocationRef location : {a, b})
    archive.events(location, [&](OTF2_EvtWriter* writer) {
      OTF2_EvtWriter_Enter(writer, nullptr, 10, far);
      OTF2_EvtWriter_Enter(writer, nullptr, 20, 5);
      OTF2_EvtWriter_Enter(writer, nullptr, 30, 12345);  // is not defined
      OTF2_EvtWriter_Leave(writer, nullptr, 40, 12345);
      OTF2_EvtWriter_Leave(writer, nullptr, 50, 5);
      OTF2_EvtWriter_Leave(writer, nullptr, 60, far);
    });
  archive.close([&](OTF2_GlobalDefWriter* writer) {
    archive.region(writer, far, "far", OTF2_PARADIGM_MPI, OTF2_REGION_ROLE_BARRIER);
    OTF2_GlobalDefWriter_WriteRegion(writer, 5, 77, 77, 77, OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_USER,
                                     OTF2_REGION_FLAG_NONE, 77, 0, 0);
  });
  const auto trace = Trace::open_archive(archive.anchor());
  std::vector<std::string> regions;
  auto reader = trace->read({{0}});
  while (const Event* event = reader.next()) {
    const RegionOfTrace& region = trace->region(event->path);
    regions.push_back(region.name + ":" + std::to_string(region.line));
    if (event->type != Type::Enter || event->time_ns != 30) continue;
    EXPECT_EQ("far", trace->region_of(trace->parent_of(trace->parent_of(event->path))));
  }
  EXPECT_EQ((std::vector<std::string>{"far:17", "(unknown):0", "(unknown):0", "(unknown):0", "(unknown):0", "far:17"}),
            regions);
  const RegionOfTrace& far_region = trace->regions()[1];
  EXPECT_TRUE(far_region.is_mpi() && far_region.is_collective());
  EXPECT_EQ("a.c", far_region.file);
}

TEST_F(ArchiveTest, partners_are_ranks_of_the_job) {
  ArchiveWriter archive(directory_);
  // Ranks 0..3 are the locations 40, 30, 20, 10; the thread 50 belongs to the process of 40.
  const std::vector<std::uint64_t> world{40, 30, 20, 10};
  for (const OTF2_LocationRef location : {40, 30, 20, 10})
    archive.events(location, [&](OTF2_EvtWriter* writer) {
      OTF2_EvtWriter_MpiSend(writer, nullptr, 10, 1, 200, 3, 8);    // of all, in reverse
      OTF2_EvtWriter_MpiSend(writer, nullptr, 20, 0, 201, 3, 8);    // itself
      OTF2_EvtWriter_MpiSend(writer, nullptr, 30, 1, 202, 3, 8);    // the other group's second
      OTF2_EvtWriter_MpiSend(writer, nullptr, 40, 1, 999, 3, 8);    // is not defined
      OTF2_EvtWriter_MpiSend(writer, nullptr, 50, 123, 200, 3, 8);  // is not in it
    });
  archive.events(50, [](OTF2_EvtWriter*) {});
  archive.close(
      [&](OTF2_GlobalDefWriter* writer) {
        for (OTF2_LocationGroupRef i = 0; i < 4; ++i)
          OTF2_GlobalDefWriter_WriteLocationGroup(writer, i, OTF2_UNDEFINED_STRING, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                  OTF2_UNDEFINED_SYSTEM_TREE_NODE, OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocationGroup(writer, 9, archive.text(writer, "gpu"),
                                                OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, OTF2_UNDEFINED_SYSTEM_TREE_NODE,
                                                2);
        for (OTF2_LocationGroupRef i = 0; i < 4; ++i)
          OTF2_GlobalDefWriter_WriteLocation(writer, world[i], OTF2_UNDEFINED_STRING, OTF2_LOCATION_TYPE_CPU_THREAD, 5,
                                             i);
        OTF2_GlobalDefWriter_WriteLocation(writer, 50, archive.text(writer, "stream"),
                                           OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, 0, 9);
        group(writer, 1, OTF2_GROUP_TYPE_COMM_LOCATIONS, world);
        group(writer, 2, OTF2_GROUP_TYPE_COMM_GROUP, {3, 2, 1, 0});
        group(writer, 3, OTF2_GROUP_TYPE_COMM_SELF, {});
        group(writer, 4, OTF2_GROUP_TYPE_COMM_GROUP, {0, 2});
        group(writer, 5, OTF2_GROUP_TYPE_COMM_GROUP, {3, 1});
        OTF2_GlobalDefWriter_WriteComm(writer, 200, archive.text(writer, "reverse"), 2, OTF2_UNDEFINED_COMM, 0);
        OTF2_GlobalDefWriter_WriteComm(writer, 201, OTF2_UNDEFINED_STRING, 3, OTF2_UNDEFINED_COMM, 0);
        OTF2_GlobalDefWriter_WriteInterComm(writer, 202, OTF2_UNDEFINED_STRING, 4, 5, 200, 0);
      },
      false);
  const auto trace = Trace::open_archive(archive.anchor());
  ASSERT_EQ(5u, trace->locations().size());
  EXPECT_EQ(2, trace->locations()[3].rank) << "the accelerator is its process's";
  EXPECT_EQ(1, trace->locations()[3].thread);
  EXPECT_EQ(LocationKind::AcceleratorStream, trace->locations()[3].kind);
  EXPECT_EQ(0, trace->communicators().all()[2].parent);
  std::map<std::int32_t, std::vector<std::int32_t>> peers;  // by rank
  auto reader = trace->read();
  while (const Event* event = reader.next()) {
    const std::int32_t rank = trace->locations()[event->location].rank;
    peers[rank].push_back(trace->communicators().rank_of(rank, event->record.communicator, event->record.peer));
  }
  const std::map<std::int32_t, std::vector<std::int32_t>> expected{
      {0, {2, 0, 1, -1, -1}}, {1, {2, 1, 2, -1, -1}}, {2, {2, 2, 1, -1, -1}}, {3, {2, 3, 2, -1, -1}}};
  EXPECT_EQ(expected, peers);
}

TEST_F(ArchiveTest, a_process_that_is_no_rank_has_none) {
  ArchiveWriter archive(directory_);
  for (const OTF2_LocationRef location : {1, 2})
    archive.events(location, [](OTF2_EvtWriter* writer) { OTF2_EvtWriter_Enter(writer, nullptr, 1, 0); });
  archive.close([&](OTF2_GlobalDefWriter* writer) { group(writer, 1, OTF2_GROUP_TYPE_COMM_LOCATIONS, {2}); });
  const auto trace = Trace::open_archive(archive.anchor());
  ASSERT_EQ(2u, trace->locations().size());
  EXPECT_EQ(0, trace->locations()[0].rank);
  EXPECT_EQ(-1, trace->locations()[1].rank);
  EXPECT_EQ(1u, Trace::open_archive(archive.anchor(), [](std::int32_t rank) { return rank == 0; })->locations().size());
}

TEST_F(ArchiveTest, all_kinds_of_events) {
  ArchiveWriter archive(directory_);
  write_all_kinds(archive);
  const auto trace = Trace::open_archive(archive.anchor());
  std::vector<std::string> words;
  std::int64_t time = 0;
  auto reader = trace->read();
  while (const Event* event = reader.next()) {
    std::string word = event->type == Type::Communication
                           ? std::string(name_of(event->record.kind)) + "_" + name_of(event->record.phase)
                           : name_of(event->type);
    EXPECT_LE(time, event->time_ns);
    time = event->time_ns;
    if (event->type == Type::Metric)
      word += " " + trace->metrics()[event->record.node].name + " " + std::to_string(trace->value_of(*event));
    if (event->type == Type::Enter || event->type == Type::Sample || event->type == Type::Leave)
      word += " " + trace->region_of(event->path);
    words.push_back(word);
  }
  const std::vector<std::string> expected{"program_begin",
                                          "flush_begin",
                                          "flush_end",
                                          "gap",
                                          "gap_end",
                                          "send_begun",
                                          "receive_begun",
                                          "request_test",
                                          "send_completed",
                                          "receive_completed",
                                          "receive_begun",
                                          "receive_cancelled",
                                          "collective_whole",
                                          "collective_begun",
                                          "collective_completed",
                                          "fork",
                                          "join",
                                          "lock_acquired",
                                          "lock_released",
                                          "task_create",
                                          "task_switch",
                                          "task_complete",
                                          "metric m8 7.000000",
                                          "metric m9 2.500000",
                                          "parameter",
                                          "parameter",
                                          "parameter",
                                          "window_made",
                                          "window_collective",
                                          "window_sync",
                                          "window_lock_requested",
                                          "window_locked",
                                          "window_locked",
                                          "window_unlocked",
                                          "window_sync",
                                          "one_sided_begun",
                                          "one_sided_completed",
                                          "one_sided_begun",
                                          "one_sided_begun",
                                          "one_sided_completed",
                                          "window_freed",
                                          "fork",
                                          "join",
                                          "team_begin",
                                          "team_end",
                                          "lock_acquired",
                                          "lock_released",
                                          "task_create",
                                          "task_switch",
                                          "task_complete",
                                          "thread_create",
                                          "thread_begin",
                                          "thread_wait",
                                          "thread_end",
                                          "enter inner",
                                          "sample outer",
                                          "leave inner",
                                          "read_begun",
                                          "read_completed",
                                          "communicator_made",
                                          "communicator_freed",
                                          "program_end"};
  EXPECT_EQ(expected, words);
  EXPECT_EQ(0u, trace->damage().count()) << trace->damage().lines().front();
  const std::vector<std::pair<std::string, std::uint64_t>> left_out{
      {"RMA_WAIT_CHANGE", 1},   {"RMA_OP_TEST", 1}, {"RMA_OP_COMPLETE_REMOTE", 1}, {"IO_CREATE_HANDLE", 1},
      {"IO_DESTROY_HANDLE", 1}, {"IO_SEEK", 1},     {"IO_OPERATION_BEGIN", 1},     {"IO_OPERATION_COMPLETE", 1}};
  reader = trace->read({}, 1'000'000);  // what was there is counted once
  EXPECT_EQ(left_out, trace->archive()->left_out());
}

// What libotf2 makes of an archive: region and ticks of each Enter.
using Entered = std::vector<std::pair<std::uint64_t, OTF2_RegionRef>>;
OTF2_CallbackCode take_enter(OTF2_LocationRef, OTF2_TimeStamp time, std::uint64_t, void* to, OTF2_AttributeList*,
                             OTF2_RegionRef region) {
  static_cast<Entered*>(to)->emplace_back(time, region);
  return OTF2_CALLBACK_SUCCESS;
}
Entered read_by_libotf2(const std::filesystem::path& anchor, OTF2_LocationRef location) {
  Entered found;
  OTF2_Reader* reader = OTF2_Reader_Open(anchor.c_str());
  OTF2_Reader_SetSerialCollectiveCallbacks(reader);
  OTF2_Reader_SelectLocation(reader, location);
  OTF2_Reader_OpenDefFiles(reader);
  OTF2_Reader_OpenEvtFiles(reader);
  OTF2_DefReader* own = OTF2_Reader_GetDefReader(reader, location);
  std::uint64_t read = 0;
  OTF2_Reader_ReadAllLocalDefinitions(reader, own, &read);
  OTF2_Reader_CloseDefFiles(reader);
  OTF2_EvtReader* events = OTF2_Reader_GetEvtReader(reader, location);
  OTF2_EvtReaderCallbacks* callbacks = OTF2_EvtReaderCallbacks_New();
  OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, take_enter);
  OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, &found);
  OTF2_EvtReaderCallbacks_Delete(callbacks);
  OTF2_Reader_ReadAllLocalEvents(reader, events, &read);
  OTF2_Reader_Close(reader);
  return found;
}

TEST_F(ArchiveTest, clocks_and_references_of_a_location_are_its_own) {
  for (const std::uint64_t resolution : {1'000'000'000u, 1'995'563'064u, 10u})
    for (const OTF2_IdMapMode mode : {OTF2_ID_MAP_DENSE, OTF2_ID_MAP_SPARSE}) {
      ArchiveWriter archive(directory_);
      constexpr std::uint64_t offset = 1'000'000;
      archive.events(5, [](OTF2_EvtWriter* writer) {
        for (std::uint32_t i = 0; i < 50; ++i) OTF2_EvtWriter_Enter(writer, nullptr, offset + 1000 * i, i % 4);
      });
      archive.own_definitions(5, [&](OTF2_DefWriter* writer) {
        OTF2_IdMap* map = OTF2_IdMap_Create(mode, 4);
        const std::uint64_t global[] = {3, 0, 1};
        for (std::uint64_t i = 0; i < 3; ++i) OTF2_IdMap_AddIdPair(map, i, global[i]);
        OTF2_DefWriter_WriteMappingTable(writer, OTF2_MAPPING_REGION, map);
        OTF2_IdMap_Free(map);
        OTF2_DefWriter_WriteClockOffset(writer, offset + 5000, -700, 0);
        OTF2_DefWriter_WriteClockOffset(writer, offset + 20'000, 3000, 0);
        OTF2_DefWriter_WriteClockOffset(writer, offset + 30'000, 3100, 0);
      });
      archive.close([&](OTF2_GlobalDefWriter* writer) {
        OTF2_GlobalDefWriter_WriteClockProperties(writer, resolution, offset, 50'000, 0);
        for (OTF2_RegionRef i = 0; i < 4; ++i) archive.region(writer, i, "r" + std::to_string(i));
      });
      const Entered truth = read_by_libotf2(archive.anchor(), 5);
      ASSERT_EQ(50u, truth.size());
      const auto trace = Trace::open_archive(archive.anchor());
      auto reader = trace->read();
      for (const auto& [ticks, of] : truth) {
        const Event* event = reader.next();
        ASSERT_NE(nullptr, event);
        const double ns =
            static_cast<double>(static_cast<std::int64_t>(ticks - offset)) * 1e9 / static_cast<double>(resolution);
        EXPECT_NEAR(ns, static_cast<double>(event->time_ns), 1);
        EXPECT_EQ("r" + std::to_string(of), trace->region_of(event->path));
      }
      EXPECT_NE(truth[0].first, offset);
      EXPECT_NE(truth[0].second, 0u);
    }
}

TEST_F(ArchiveTest, many_chunks_from_any_place) {
  constexpr std::uint64_t chunk = 256 * 1024;
  constexpr std::uint32_t calls = 60'000;
  ArchiveWriter archive(directory_, chunk);
  for (const OTF2_LocationRef location : {0, 1})
    archive.events(location, [&](OTF2_EvtWriter* writer) {
      OTF2_EvtWriter_Enter(writer, nullptr, 0, 0);
      for (std::uint32_t i = 0; i < calls; ++i) {
        const std::uint64_t begin = 1000 * i + location;
        OTF2_EvtWriter_Enter(writer, nullptr, begin, 1 + i % 2);
        OTF2_EvtWriter_MpiSend(writer, nullptr, begin + 10, 0, 0, i % 100, i);
        OTF2_EvtWriter_Leave(writer, nullptr, begin + 20, 1 + i % 2);
      }
      OTF2_EvtWriter_Leave(writer, nullptr, 1000 * calls, 0);
    });
  archive.close([&](OTF2_GlobalDefWriter* writer) {
    for (OTF2_RegionRef i = 0; i < 3; ++i) archive.region(writer, i, "r" + std::to_string(i));
  });
  ASSERT_GT(std::filesystem::file_size(directory_ / "traces" / "0.evt"), 4 * chunk);
  const auto trace = Trace::open_archive(archive.anchor());
  const std::vector<std::string> all = words_of(trace->read());
  ASSERT_EQ(2 * (3 * calls + 2), all.size());
  EXPECT_EQ(0u, trace->damage().count());
  for (const std::int64_t from : {std::int64_t{0}, std::int64_t{10}, std::int64_t{20'000'000}, std::int64_t{33'333'010},
                                  std::int64_t{59'999'000}, std::int64_t{1} << 40}) {
    std::vector<std::string> part;
    for (const std::string& word : all)
      if (std::stoll(word.substr(word.rfind(' ') + 1)) >= from) part.push_back(word);
    EXPECT_EQ(part, words_of(trace->read({}, from))) << from;
    EXPECT_EQ(part, words_of(trace->read({}, from, Trace::Start::FromBegin))) << from;
  }
  const auto parent_at = [&](Trace::Start start) {
    auto reader = trace->read({}, 40'000'000, start);
    return trace->parent_of(reader.next()->path);
  };
  EXPECT_EQ("r0", trace->region_of(parent_at(Trace::Start::FromBegin)));
  EXPECT_EQ(no_path, parent_at(Trace::Start::Jump));
}

TEST_F(ArchiveTest, call_paths_are_the_same_for_all_and_grow_with_the_tree_alone) {
  ArchiveWriter archive(directory_);
  for (const OTF2_LocationRef location : {0, 1, 2})
    archive.events(location, [&](OTF2_EvtWriter* writer) {
      for (std::uint32_t i = 0; i < 1000; ++i) {
        OTF2_EvtWriter_Enter(writer, nullptr, 10 * i, i % 2);
        OTF2_EvtWriter_Enter(writer, nullptr, 10 * i + 1, 2);
        OTF2_EvtWriter_Leave(writer, nullptr, 10 * i + 2, 2);
        OTF2_EvtWriter_Leave(writer, nullptr, 10 * i + 3, i % 2);
      }
    });
  archive.close([&](OTF2_GlobalDefWriter* writer) {
    for (OTF2_RegionRef i = 0; i < 3; ++i) archive.region(writer, i, "r" + std::to_string(i));
  });
  const auto trace = Trace::open_archive(archive.anchor());
  EXPECT_EQ(3u * 4000, words_of(trace->read()).size());
  EXPECT_EQ(4u, trace->archive()->paths().size());
}

TEST_F(ArchiveTest, a_damaged_count_takes_no_memory) {
  ArchiveWriter archive(directory_);
  archive.events(0, [](OTF2_EvtWriter* writer) { OTF2_EvtWriter_Enter(writer, nullptr, 1, 0); });
  archive.close([&](OTF2_GlobalDefWriter* writer) { group(writer, 1, OTF2_GROUP_TYPE_LOCATIONS, {65, 66, 67}); });
  const std::filesystem::path file = directory_ / "traces.def";
  std::string bytes(std::filesystem::file_size(file), 0);
  std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::size_t at = bytes.find("\1\3\1A\1B");
  ASSERT_NE(std::string::npos, at);
  bytes.replace(at, 5, "\4\xf0\xff\xff\x7f");  // two thousand million members
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  rlimit before{}, little{};
  getrlimit(RLIMIT_DATA, &before);
  little = {std::uint64_t{4} << 30, before.rlim_max};
  setrlimit(RLIMIT_DATA, &little);
  EXPECT_EQ(1u, Trace::open_archive(archive.anchor())->damage().count());
  setrlimit(RLIMIT_DATA, &before);
}

TEST_F(ArchiveTest, a_damaged_chunk_costs_what_is_in_it) {
  constexpr std::uint64_t chunk = 256 * 1024;
  constexpr std::uint32_t calls = 40'000;
  ArchiveWriter archive(directory_, chunk);
  archive.events(0, [&](OTF2_EvtWriter* writer) {
    for (std::uint32_t i = 0; i < calls; ++i) {
      OTF2_EvtWriter_Enter(writer, nullptr, 10 * i, 0);
      OTF2_EvtWriter_Leave(writer, nullptr, 10 * i + 5, 0);
    }
  });
  archive.close([&](OTF2_GlobalDefWriter* writer) { archive.region(writer, 0, "r"); });
  const std::filesystem::path file = directory_ / "traces" / "0.evt";
  const auto size = std::filesystem::file_size(file);
  ASSERT_GT(size, 2 * chunk);
  {
    std::FILE* out = std::fopen(file.c_str(), "r+b");
    std::fseek(out, chunk + chunk / 2, SEEK_SET);
    const std::vector<char> bad(64, 9);  // no kind of record
    std::fwrite(bad.data(), 1, bad.size(), out);
    std::fclose(out);
  }
  const auto trace = Trace::open_archive(archive.anchor());
  std::uint64_t events = 0, lost = 0;
  auto reader = trace->read();
  while (const Event* event = reader.next())
    if (event->type == Type::Gap) lost += static_cast<std::uint64_t>(event->record.value);
    else ++events;
  EXPECT_EQ(2 * calls, events + lost);
  EXPECT_GT(lost, 1000u);
  EXPECT_LT(lost, 15'000u);
  EXPECT_EQ(1u, trace->damage().count());
}

}  // namespace
}  // namespace refrain::trace
