// tar archives, and experiments inside them.
#include <gtest/gtest.h>

#include "offline/experiment/experiment.hpp"
#include "offline/experiment/folder.hpp"
#include "tests/unit/record/sample_job.hpp"

namespace refrain::experiment {
namespace {

namespace fs = std::filesystem;
using testing::ScratchDirectory;
using testing::write_file;

std::string archive_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string bytes;
  for (const auto& [name, contents] : files)
    bytes += tar_head(name, contents.size()) + contents + tar_padding(contents.size());
  return bytes + tar_end();
}

std::string contents_of(const fs::path& path) {
  const InputFile file(path);
  const auto bytes = file.read(0, file.size(), "the file");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The octal number at a place in a head.
std::uint64_t octal_at(const std::string& head, std::size_t at) { return std::stoull(head.substr(at), nullptr, 8); }

TEST(Tar, files_come_back) {
  const std::string bytes = archive_of({{"a/one", "1"}, {"a/empty", ""}, {"a/block", std::string(512, 'x')}});
  EXPECT_EQ(bytes.size() % 512, 0u);
  const InputFile file("test.tar", std::as_bytes(std::span(bytes)));
  const auto members = tar_members(file);
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members.at("a/one").offset, 512u);
  EXPECT_EQ(members.at("a/one").size, 1u);
  EXPECT_EQ(members.at("a/empty").size, 0u);
  EXPECT_EQ(members.at("a/block").offset, 4u * 512);
  EXPECT_EQ(members.at("a/block").size, 512u);
}

TEST(Tar, the_head_has_what_the_standard_wants) {
  const std::string head = tar_head("exp/profile.refrain", 0644);
  ASSERT_EQ(head.size(), 512u);
  EXPECT_EQ(octal_at(head, 100), 0644u);
  EXPECT_EQ(octal_at(head, 124), 0644u);
  EXPECT_EQ(head[156], '0');
  EXPECT_EQ(head.substr(257, 8), std::string("ustar\0"
                                             "00",
                                             8));
  std::uint64_t sum = 8 * ' ';
  for (std::size_t i = 0; i < head.size(); ++i)
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(head[i]);
  EXPECT_EQ(octal_at(head, 148), sum);
  EXPECT_EQ(head[154], '\0');
  EXPECT_EQ(head[155], ' ');
}

TEST(Tar, sizes_of_more_than_8_gib_are_in_base_256) {
  const std::string largest = tar_head("x", (std::uint64_t{1} << 33) - 1),
                    larger = tar_head("x", std::uint64_t{1} << 33);
  EXPECT_EQ(largest.substr(124, 12), std::string("77777777777\0", 12));
  EXPECT_EQ(larger.substr(124, 12), std::string("\x80\0\0\0\0\0\0\x02\0\0\0\0", 12));
}

TEST(Tar, names_have_at_most_100_bytes) {
  EXPECT_NO_THROW(tar_head(std::string(100, 'n'), 1));
  EXPECT_THROW(tar_head(std::string(101, 'n'), 1), std::invalid_argument);
}

TEST(Tar, a_head_without_a_size_is_damage) {
  std::string bytes = archive_of({{"a", "1"}});
  bytes[124] = 'x';
  const InputFile file("test.tar", std::as_bytes(std::span(bytes)));
  EXPECT_THROW(tar_members(file), ReadError);
}

TEST(Tar, an_archive_that_was_cut_is_damage) {
  const std::string bytes = archive_of({{"a", "1"}, {"b", std::string(600, 'x')}}).substr(0, 1024 + 512 + 599);
  const InputFile file("test.tar", std::as_bytes(std::span(bytes)));
  EXPECT_THROW(tar_members(file), ReadError);
}

/// A head of another type.
std::string head_of_type(char type, std::string_view name, std::size_t size) {
  std::string head = tar_head(name, size);
  head[156] = type;
  return head;
}

TEST(Tar, long_names_are_whole) {
  const std::string folder(120, 'd'), of_gnu = folder + "/gnu", of_pax = folder + "/pax", of_ustar = folder + "/ustar";
  std::string ustar = tar_head("ustar", 1);
  ustar.replace(345, folder.size(), folder);
  const auto padded = [](const std::string& contents) { return contents + tar_padding(contents.size()); };
  const std::string records = "134 path=" + of_pax + "\n" + "10 size=2\n";
  const std::string bytes = head_of_type('L', "././@LongLink", of_gnu.size() + 1) + padded(of_gnu + '\0') +
                            tar_head(of_gnu.substr(0, 100), 3) + padded("gnu") +
                            head_of_type('x', "PaxHeaders/pax", records.size()) + padded(records) +
                            tar_head(of_pax.substr(0, 100), 0) + padded("22") + ustar + padded("3") +
                            head_of_type('2', "link", 0) + tar_end();
  const InputFile file("test.tar", std::as_bytes(std::span(bytes)));
  const auto members = tar_members(file);
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members.at(of_gnu).size, 3u);
  EXPECT_EQ(members.at(of_pax).size, 2u);
  EXPECT_EQ(members.at(of_ustar).size, 1u);
}

TEST(Packed, its_files_have_the_names_of_a_directory) {
  const ScratchDirectory scratch;
  const fs::path packed = fs::path(scratch.path) / "exp.tar";
  write_file(packed,
             archive_of({{"exp/manifest.json", "{}"}, {"exp/profile.refrain", "the profile"}, {"notes", "no"}}));
  EXPECT_TRUE(is_packed(packed));
  std::error_code error;
  EXPECT_EQ(files_in(packed, error), (std::vector<std::string>{"manifest.json", "profile.refrain"}));
  EXPECT_FALSE(error);
  EXPECT_TRUE(has_file(packed, "profile.refrain"));
  EXPECT_FALSE(has_file(packed, "notes"));
  EXPECT_EQ(files_like(packed, "prof", ".refrain"), std::vector<fs::path>{packed / "profile.refrain"});
  EXPECT_EQ(contents_of(packed / "profile.refrain"), "the profile");
  const InputFile file(packed / "profile.refrain");
  const auto part = InputFile(file.source()).read(4, 7, "a part");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(part.data()), part.size()), "profile");
  EXPECT_THROW(file.read(4, 8, "more"), ReadError);
  EXPECT_THROW(InputFile(packed / "nothing"), ReadError);
}

TEST(Packed, a_directory_is_what_it_was) {
  const ScratchDirectory scratch;
  write_file(scratch.path + "/b.refrain", "b");
  write_file(scratch.path + "/a.refrain", "a");
  std::error_code error;
  EXPECT_EQ(files_in(scratch.path, error), (std::vector<std::string>{"a.refrain", "b.refrain"}));
  EXPECT_TRUE(has_file(scratch.path, "a.refrain"));
  EXPECT_FALSE(has_file(scratch.path, "c.refrain"));
  EXPECT_FALSE(is_packed(scratch.path));
  EXPECT_TRUE(files_in(scratch.path + "/none", error).empty());
  EXPECT_TRUE(error);
}

TEST(Packed, other_files_are_no_experiments) {
  const ScratchDirectory scratch;
  const fs::path cubex = fs::path(scratch.path) / "profile.cubex", text = fs::path(scratch.path) / "text";
  write_file(cubex, archive_of({{"anchor.xml", "<cube/>"}}));
  write_file(text, "no archive");
  EXPECT_FALSE(is_packed(cubex));
  EXPECT_FALSE(is_packed(text));
  EXPECT_FALSE(is_packed(fs::path(scratch.path) / "none"));
  EXPECT_THROW(Experiment::open(text), ReadError);
}

TEST(Packed, another_archive_of_the_same_name_is_read_anew) {
  const ScratchDirectory scratch;
  const fs::path packed = fs::path(scratch.path) / "exp.tar";
  write_file(packed, archive_of({{"e/manifest.json", "one"}}));
  EXPECT_EQ(contents_of(packed / "manifest.json"), "one");
  write_file(packed, archive_of({{"e/other.json", std::string(600, ' ')}, {"e/manifest.json", "two"}}));
  EXPECT_EQ(contents_of(packed / "manifest.json"), "two");
}

}  // namespace
}  // namespace refrain::experiment
