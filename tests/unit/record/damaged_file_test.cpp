// Invalid files give an error that names the file and the place.

#include <gtest/gtest.h>

#include "format/checksum.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/experiment.hpp"
#include "record/writer.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

using format::checksum;

std::string good_file() {
  ScratchDirectory directory;
  SampleRank sample = sample_rank(0, 1, 2, 50);
  sample.add_extra_metrics();
  EXPECT_TRUE(record::write_profile(sample.record(), {}, directory.c_str(), 0).written);
  return read_file(directory.path + "/profile.refrain");
}

/// "accepted", or the error.
std::string result_of(const std::string& bytes) {
  try {
    experiment::parse_profile(experiment::InputFile("f", std::as_bytes(std::span(bytes))));
  } catch (const experiment::ReadError& error) {
    return error.what();
  }
  return "accepted";
}

void seal_header(std::string& bytes) { put(bytes, 56, checksum(bytes.data(), 56)); }
/// Recomputes the checksum of the section table of the definitions block.
void seal_definitions(std::string& bytes) {
  const auto at = get<std::uint64_t>(bytes, 40);
  const std::size_t size = 8 + get<std::uint32_t>(bytes, at) * std::size_t{40};
  put(bytes, at + size, checksum(bytes.data() + at, size));
}

TEST(DamagedFile, the_good_one_is_accepted) { EXPECT_EQ(result_of(good_file()), "accepted"); }

TEST(DamagedFile, foreign_files_are_not_profiles) {
  EXPECT_EQ(result_of(""), "f: at byte 0: the file is empty");
  EXPECT_EQ(result_of("\x7f"), "f: at byte 0: not a Refrain profile");
  EXPECT_EQ(result_of("\x7f"
                      "ELF and so on, longer than a header would be, and longer, and longer"),
            "f: at byte 0: not a Refrain profile");
}

TEST(DamagedFile, line_ends_changed_by_a_transfer_are_noticed) {
  std::string bytes = good_file();
  bytes.erase(bytes.find("\r\n"), 1);
  EXPECT_EQ(result_of(bytes), "f: at byte 0: not a Refrain profile");
}

TEST(DamagedFile, a_newer_major_version_is_told_from_damage) {
  std::string bytes = good_file();
  put<std::uint16_t>(bytes, 12, 7);
  EXPECT_EQ(result_of(bytes), "f: at byte 12: written by a newer Refrain (format 7." +
                                  std::to_string(format::minor_version) + "; this one reads 1.x)");
}

TEST(DamagedFile, a_newer_minor_version_is_read) {
  std::string bytes = good_file();
  put<std::uint16_t>(bytes, 14, format::minor_version + 1);
  seal_header(bytes);
  EXPECT_EQ(result_of(bytes), "accepted");
}

TEST(DamagedFile, other_byte_order) {
  std::string bytes = good_file();
  put<std::uint32_t>(bytes, 8, 0x0d0c0b0a);
  EXPECT_EQ(result_of(bytes), "f: at byte 8: wrong byte order mark");
}

TEST(DamagedFile, every_truncation_is_refused) {
  const std::string bytes = good_file();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string result = result_of(bytes.substr(0, size));
    ASSERT_EQ(result.rfind("f: at byte ", 0), 0u) << size << ": " << result;
  }
}

TEST(DamagedFile, every_flipped_bit_is_refused) {
  const std::string good = good_file();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const std::string result = result_of(bytes);
    ASSERT_EQ(result.rfind("f: at byte ", 0), 0u) << "bit " << bit << ": " << result;
  }
}

TEST(DamagedFile, unknown_sections_are_skipped_and_newer_ones_named) {
  std::string bytes = good_file();
  const auto block = get<std::uint64_t>(bytes, 40);
  const std::size_t first_entry = block + 8;
  ASSERT_EQ(get<std::uint32_t>(bytes, first_entry), 1u) << "the section 'writer'";
  put<std::uint16_t>(bytes, first_entry + 4, 3);
  seal_definitions(bytes);
  EXPECT_EQ(result_of(bytes), "f: at byte " + std::to_string(block) +
                                  ": definitions, section 'writer': written by a newer Refrain (version 3)");
  put<std::uint16_t>(bytes, first_entry + 4, 1);
  put<std::uint32_t>(bytes, first_entry, 0x7777);
  seal_definitions(bytes);
  EXPECT_EQ(result_of(bytes), "f: at byte " + std::to_string(block) + ": definitions, section 'writer': is missing");

  // One more section of an unknown type, in a table with larger entries: the block moves to the end.
  std::string grown = good_file();
  const auto old_at = get<std::uint64_t>(grown, 40), old_size = get<std::uint64_t>(grown, 48);
  const auto count = get<std::uint32_t>(grown, old_at);
  constexpr std::uint32_t entry_size = 48;
  const std::uint64_t moved = 8 + std::uint64_t{count + 1} * entry_size - (8 + std::uint64_t{count} * 40);
  std::string table(8, '\0');
  put(table, 0, count + 1);
  put(table, 4, entry_size);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string entry = grown.substr(old_at + 8 + std::size_t{i} * 40, 40);
    put(entry, 8, get<std::uint64_t>(entry, 8) + moved);
    table += entry + std::string(8, 'z');
    if (i == 1) table += "\x99\x99\x99\x99" + std::string(44, '\xff');
  }
  table += std::string(8, '\0');
  put(table, table.size() - 8, checksum(table.data(), table.size() - 8));
  const std::string payloads =
      grown.substr(old_at + 8 + std::size_t{count} * 40 + 8, old_size - (16 + std::size_t{count} * 40));
  put<std::uint64_t>(grown, 40, grown.size());
  put<std::uint64_t>(grown, 48, table.size() + payloads.size());
  seal_header(grown);
  grown += table + payloads;
  EXPECT_EQ(result_of(grown), "accepted");
}

TEST(DamagedFile, impossible_sizes_reserve_no_memory) {
  const std::string good = good_file();
  const auto block = get<std::uint64_t>(good, 40);
  for (const std::uint64_t size :
       {~std::uint64_t{0}, std::uint64_t{1} << 62, std::uint64_t{1} << 40, std::uint64_t{1} << 31}) {
    std::string bytes = good;
    put(bytes, 48, size);
    seal_header(bytes);
    EXPECT_NE(result_of(bytes).find("goes beyond the end of the file"), std::string::npos);
    for (const std::size_t field : {8, 16, 24}) {
      bytes = good;
      put(bytes, block + 8 + 40 + field, size);
      seal_definitions(bytes);
      EXPECT_EQ(result_of(bytes).rfind("f: at byte ", 0), 0u);
    }
    bytes = good;
    put(bytes, 28, static_cast<std::uint32_t>(size >> 8));
    put(bytes, 24, static_cast<std::uint32_t>(size >> 8));
    seal_header(bytes);
    EXPECT_EQ(result_of(bytes).rfind("f: at byte ", 0), 0u);
  }
}

TEST(DamagedFile, on_disk_is_named_by_its_path) {
  ScratchDirectory directory;
  put_manifest(directory.path, 1);
  write_file(directory.path + "/profile.refrain", good_file().substr(0, 1000));
  try {
    experiment::read_experiment(directory.path);
    FAIL();
  } catch (const experiment::ReadError& error) {
    EXPECT_EQ(std::string(error.what()).rfind(directory.path + "/profile.refrain: at byte ", 0), 0u) << error.what();
  }
}

TEST(DamagedFile, wrong_directories_are_explained) {
  const auto error_of = [](const std::string& path) -> std::string {
    try {
      experiment::read_experiment(path);
    } catch (const experiment::ReadError& error) {
      return error.what();
    }
    return "accepted";
  };
  ScratchDirectory directory;
  EXPECT_EQ(error_of("/nowhere"), "/nowhere: does not exist");
  EXPECT_EQ(error_of("/etc/passwd"), "/etc/passwd: is no experiment, neither as a directory nor packed");
  EXPECT_EQ(error_of(directory.path), directory.path + ": is not an experiment directory: it has no manifest.json");
  put_manifest(directory.path, 1);
  EXPECT_EQ(error_of(directory.path), directory.path + ": holds no profile");
  write_file(directory.path + "/part-0.refrain.new", "half written");
  EXPECT_EQ(error_of(directory.path), directory.path + ": holds no profile");
  SampleRank sample = sample_rank(1, 2, 1, 5);
  ASSERT_TRUE(record::write_part(sample.record(), directory.c_str()).written);
  EXPECT_EQ(error_of(directory.path), "accepted");
  write_file(directory.path + "/part-0.refrain", read_file(directory.path + "/part-1.refrain"));
  EXPECT_EQ(error_of(directory.path),
            directory.path + "/part-0.refrain: at byte 0: is not the profile of the rank in its name");
}

}  // namespace
}  // namespace refrain::testing
