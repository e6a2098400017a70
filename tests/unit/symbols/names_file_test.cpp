// The file of names of an experiment: what is written is read, and nothing else is.
#include "offline/symbols/names_file.hpp"

#include <gtest/gtest.h>

namespace refrain::symbols {
namespace {

std::vector<ModuleNames> sample() {
  ModuleNames program{"/home/a/program", "c0ffee", NameSource::Debug, "", {}};
  program.frames[{0x1234, Lookup::ReturnAddress}] = {
      {.function = "inner(int)", .file = "/src/a.hpp", .line = 7, .inlined = true},
      {.function = "outer", .file = "/src/a.cpp", .line = 40, .part = true, .full = false}};
  program.frames[{0x1234, Lookup::Entry}] = {{.function = "outer", .file = "/src/a.cpp", .line = 12}};
  program.frames[{0xffff'ffff'ffff'fff0, Lookup::Entry}] = {{.named = false, .begin = 3}};
  ModuleNames gone{"/lib/gone.so", "", NameSource::None, "gone.so: cannot be opened", {}};
  gone.frames[{0x10, Lookup::ReturnAddress}] = {{.named = false, .begin = 0x8}};
  return {program, gone};
}

std::vector<ModuleNames> read(std::span<const std::byte> bytes) {
  return parse_names(experiment::InputFile("f", bytes));
}

std::string refusal_of(std::span<const std::byte> bytes) {
  try {
    read(bytes);
  } catch (const experiment::ReadError& error) {
    return error.what();
  }
  return {};
}

TEST(NamesFile, has_what_was_written) {
  const auto written = sample(), found = read(bytes_of_names(written));
  ASSERT_EQ(found.size(), written.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].path, written[i].path);
    EXPECT_EQ(found[i].build_id, written[i].build_id);
    EXPECT_EQ(found[i].source, written[i].source);
    EXPECT_EQ(found[i].why, written[i].why);
    EXPECT_TRUE(found[i].frames == written[i].frames);
  }
}

TEST(NamesFile, of_equal_names_is_equal) {
  const auto bytes = bytes_of_names(sample());
  EXPECT_EQ(bytes, bytes_of_names(read(bytes)));
}

TEST(NamesFile, has_each_text_once) {
  ModuleNames module{"program", "c0ffee", NameSource::Debug, "", {}};
  for (std::uint64_t i = 0; i < 10'000; ++i)
    module.frames[{i * 13, Lookup::ReturnAddress}] = {
        {.function = std::string(1000, 'f'), .file = std::string(1000, 'p'), .line = 1}};
  EXPECT_LT(bytes_of_names(std::vector{module}).size(), 20'000u);
}

TEST(NamesFile, with_a_changed_byte_is_refused) {
  const auto bytes = bytes_of_names(sample());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const unsigned change : {1u, 0x80u}) {
      auto changed = bytes;
      changed[at] ^= static_cast<std::byte>(change);
      EXPECT_NE(refusal_of(changed), "") << "byte " << at;
    }
}

TEST(NamesFile, that_was_cut_off_is_refused) {
  const auto bytes = bytes_of_names(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(refusal_of(std::span(bytes).first(size)), "") << size << " bytes";
}

TEST(NamesFile, of_a_newer_refrain_says_so) {
  auto bytes = bytes_of_names(sample());
  bytes[12] = std::byte{2};
  EXPECT_NE(refusal_of(bytes).find("newer Refrain"), std::string::npos);
}

}  // namespace
}  // namespace refrain::symbols
