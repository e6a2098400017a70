#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

#include "format/profile_file.hpp"
#include "platform/pages.hpp"
#include "record/compressor.hpp"

namespace refrain::record {
namespace {

std::string document() {
  std::ifstream file(FORMAT_DOCUMENT);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The number behind `words` in the document.
std::uint64_t number_behind(const std::string& words) {
  const std::string text = document();
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(words + "(\\d+)"))) {
    ADD_FAILURE() << "the document does not say \"" << words << "\" and a number";
    return 0;
  }
  return std::stoull(found[1]);
}

TEST(FormatDocument, says_the_numbers_of_the_code) {
  EXPECT_EQ(number_behind("major version, "), format::major_version);
  EXPECT_EQ(number_behind("minor version, "), format::minor_version);
  EXPECT_EQ(number_behind("size of the header, "), format::header_size);
  EXPECT_EQ(number_behind("size of an entry of the table, "), format::section_entry_size);
  EXPECT_EQ(number_behind("version of its contents, "), format::section_version);
  EXPECT_EQ(std::uint64_t{1} << number_behind("size of the contents; at most 2\\^"), format::largest_compressed);
}

TEST(FormatDocument, has_a_row_for_every_section) {
  using enum format::Section;
  for (const auto section :
       {Writer,          Metrics,     Losses, Regions,     Modules,         Paths,     Rank,    Locations,
        Communicators,   PathMapping, Loops,  Iterations,  Slopes,          Extra,     Windows, CommunicatorsMade,
        OwnTimes,        Totals,      Events, EventFrames, SampledMessages, Durations, Cores,   CoresTaken,
        SingleIterations})
    EXPECT_NE(document().find("\n| " + std::to_string(static_cast<std::uint32_t>(section)) + " | "), std::string::npos)
        << "section " << static_cast<std::uint32_t>(section);
}

TEST(Compressor, leaves_alone_what_a_reader_would_not_unpack) {
  const std::size_t size = format::largest_compressed + 1;
  void* pages = platform::map_pages(size);  // zeros, which compress best
  ASSERT_NE(pages, nullptr);
  Compressor compressor;
  EXPECT_TRUE(compressor.compress({static_cast<const std::byte*>(pages), size}).empty());
  EXPECT_FALSE(compressor.compress({static_cast<const std::byte*>(pages), 1 << 20}).empty());
  platform::unmap_pages(pages, size);
}

}  // namespace
}  // namespace refrain::record
