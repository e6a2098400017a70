// Damaged files of names and of functions, the same ones every time: each is read or refused with a ReadError, nothing
// else.

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

#include "format/checksum.hpp"
#include "format/names_file.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/block_reader.hpp"
#include "offline/symbols/function_table.hpp"
#include "offline/symbols/names_container.hpp"
#include "offline/symbols/names_file.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"
#include "tests/fuzz/archive/mutations.hpp"

namespace refrain::testing {
namespace {

using symbols::Lookup;
using symbols::ModuleNames;
using symbols::NameSource;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string names_file() {
  std::vector<ModuleNames> modules(3);
  for (std::size_t m = 0; m < modules.size(); ++m) {
    ModuleNames& module = modules[m];
    module.path = "/lib/lib" + std::to_string(m) + ".so";
    module.build_id = m == 0 ? "" : "c0ffee0" + std::to_string(m);
    module.source = m == 2 ? NameSource::None : NameSource::Debug;
    module.why = m == 2 ? "cannot be opened" : "";
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::string name = "function" + std::to_string(i % 7);
      auto& frames = module.frames[{0x1000 + i * i * 17, i % 3 == 0 ? Lookup::Entry : Lookup::ReturnAddress}];
      if (i % 4 == 0) frames.push_back({.function = name + "(int)", .file = "a.hpp", .line = 3, .inlined = true});
      if (m == 2) frames.push_back({.named = false, .begin = 0x1000 + i});
      else frames.push_back({.function = name, .file = "a.cpp", .line = static_cast<int>(i * 100)});
    }
  }
  return text_of(symbols::bytes_of_names(modules));
}

std::string functions_file() {
  symbols::TextsToWrite texts;
  symbols::ByteList contents;
  contents.add_varint(2);
  for (const char* module : {"/lib/a.so", "/lib/b.so"}) {
    contents.add_varint(texts.number_of(module));
    contents.add_varint(texts.number_of("c0ffee"));
    contents.add_varint(30);
    for (std::uint64_t i = 0; i < 30; ++i) {
      contents.add_varint(i * 100);
      contents.add_varint(i * 90);
      contents.add_varint(texts.number_of("_Z8function" + std::to_string(i) + "i"));
    }
  }
  return text_of(symbols::container_of(texts, format::Section::Functions, contents, 1));
}

/// A file with other contents of its two sections, which are stored as they are: behind the checksums and the
/// compression.
std::string file_with(const std::string& texts, const std::string& names,
                      format::Section second = format::Section::Names) {
  const std::size_t table_size = format::section_table_size(2);
  std::string file(format::names_header_size + table_size, '\0');
  file.replace(0, std::size(format::names_magic), reinterpret_cast<const char*>(format::names_magic),
               std::size(format::names_magic));
  put(file, 8, format::endianness_mark);
  put(file, 12, format::names_major_version);
  put(file, 16, static_cast<std::uint32_t>(format::names_header_size));
  put(file, 24, std::uint64_t{table_size + texts.size() + names.size()});
  put(file, 32, format::checksum(file.data(), 32));
  const std::size_t table = format::names_header_size;
  put(file, table, std::uint32_t{2});
  put(file, table + 4, static_cast<std::uint32_t>(format::section_entry_size));
  std::size_t entry = table + format::section_table_head, offset = table_size;
  for (const auto& [type, contents] : {std::pair(format::Section::Texts, &texts), {second, &names}}) {
    put(file, entry, static_cast<std::uint32_t>(type));
    put(file, entry + 4, format::section_version);
    put(file, entry + 8, std::uint64_t{offset});
    put(file, entry + 16, std::uint64_t{contents->size()});
    put(file, entry + 24, std::uint64_t{contents->size()});
    put(file, entry + 32, format::checksum(contents->data(), contents->size()));
    offset += contents->size();
    entry += format::section_entry_size;
  }
  put(file, entry, format::checksum(file.data() + table, entry - table));
  return file + texts + names;
}

std::string contents_of(const std::string& file, format::Section type) {
  const experiment::InputFile in("f", bytes_of(file));
  auto section =
      experiment::BlockReader(in, format::names_header_size, file.size() - format::names_header_size, "names")
          .section(type, "contents");
  return text_of(section.raw(section.remaining()));
}

/// What the rest of the program relies on.
void check(const std::vector<ModuleNames>& modules) {
  for (const ModuleNames& module : modules)
    for (const auto& [place, frames] : module.frames) {
      ASSERT_FALSE(frames.empty());
      for (const auto& frame : frames) ASSERT_GE(frame.line, 0);
    }
}

void read_names(const experiment::InputFile& file) { check(symbols::parse_names(file)); }

void read_functions(const experiment::InputFile& file) {
  for (const symbols::FunctionTable& table : symbols::parse_function_tables(file)) {
    ASSERT_TRUE(std::ranges::is_sorted(table.functions, {}, &symbols::FunctionTable::Function::begin));
    for (std::uint64_t address = 0; address < 50'000; address += 7'777)
      symbols::frame_in(table, {address, Lookup::ReturnAddress});
  }
}

/// How many of the damaged files were read all the same.
int read_all(int rounds, std::uint64_t seed, const std::function<std::string(Random&)>& damaged,
             const std::function<void(const experiment::InputFile&)>& read_one = read_names) {
  limit_memory();
  Random random(seed);
  int read = 0;
  for (int i = 0; i < rounds; ++i) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", round " << i);
    const std::string file = damaged(random);
    try {
      read_one(experiment::InputFile("f", bytes_of(file)));
      ++read;
    } catch (const experiment::ReadError&) {
    }
  }
  return read;
}

TEST(Names, of_files_as_they_are) {
  const std::string file = names_file();
  read_all(20'000, 21, [&](Random& random) { return mutate(file, random); });
}

TEST(Names, behind_the_checksums) {
  const std::string file = names_file();
  const std::string texts = contents_of(file, format::Section::Texts);
  const std::string names = contents_of(file, format::Section::Names);
  EXPECT_EQ(1, read_all(1, 22, [&](Random&) { return file_with(texts, names); }));
  const int read = read_all(50'000, 23, [&](Random& random) {
    return random() % 3 == 0 ? file_with(mutate(texts, random), names) : file_with(texts, mutate(names, random));
  });
  EXPECT_GT(read, 0) << "no damage has come past the checksums";
}

TEST(Functions, of_files_as_they_are) {
  const std::string file = functions_file();
  EXPECT_EQ(1, read_all(
                   1, 24, [&](Random&) { return file; }, read_functions));
  read_all(
      10'000, 25, [&](Random& random) { return mutate(file, random); }, read_functions);
}

TEST(Functions, behind_the_checksums) {
  const std::string file = functions_file();
  const std::string texts = contents_of(file, format::Section::Texts);
  const std::string functions = contents_of(file, format::Section::Functions);
  const int read = read_all(
      20'000, 26,
      [&](Random& random) {
        return random() % 3 == 0 ? file_with(mutate(texts, random), functions, format::Section::Functions)
                                 : file_with(texts, mutate(functions, random), format::Section::Functions);
      },
      read_functions);
  EXPECT_GT(read, 0) << "no damage has come past the checksums";
}

}  // namespace
}  // namespace refrain::testing
