/// Profiles of CUBE that nobody has checked: how much memory they may take, and what their texts may hold.

#include <cstring>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include "offline/database/cubex_file.hpp"

namespace refrain::database {
namespace {

/// A ustar archive.
class Archive {
 public:
  void add(const std::string& name, const std::string& contents) {
    std::string head(512, '\0');
    head.replace(0, name.size(), name);
    char size[13];
    std::snprintf(size, sizeof size, "%011zo", contents.size());
    head.replace(124, 11, size);
    head.replace(257, 5, "ustar");
    bytes_ += head + contents + std::string((512 - contents.size() % 512) % 512, '\0');
  }
  std::string finish() const { return bytes_ + std::string(1024, '\0'); }

 private:
  std::string bytes_;
};

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// So many metrics of two call paths on two locations; all values are there. `name` is that of the first region.
std::string profile(unsigned metrics, const std::string& name) {
  std::string anchor = "<cube><attr key=\"Creator\" value=\"test\"/><metrics>";
  for (unsigned m = 0; m < metrics; ++m)
    anchor += "<metric id=\"" + std::to_string(m) + "\" type=\"EXCLUSIVE\"><uniq_name>m" + std::to_string(m) +
              "</uniq_name><dtype>DOUBLE</dtype><uom>sec</uom></metric>";
  anchor +=
      "</metrics><program><region id=\"0\"><name>" + name +
      "</name></region><region id=\"1\"><name>work</name></region>" +
      "<cnode id=\"0\" calleeId=\"0\"><cnode id=\"1\" calleeId=\"1\"/></cnode></program><system><systemtreenode>" +
      "<locationgroup><rank>0</rank><location><rank>0</rank><name>a</name></location>" +
      "<location><rank>1</rank><name>b</name></location></locationgroup></systemtreenode></system></cube>";
  Archive archive;
  archive.add("anchor.xml", anchor);
  for (unsigned m = 0; m < metrics; ++m) {
    archive.add(std::to_string(m) + ".index", "CUBEX.INDEX" + raw(std::uint32_t{1}) + raw(std::uint16_t{0}) + '\0');
    std::string values = "CUBEX.DATA";
    for (int i = 0; i < 4; ++i) values += raw(1.5 * i);
    archive.add(std::to_string(m) + ".data", values);
  }
  return archive.finish();
}

CubexFile parse(const std::string& bytes, std::size_t most_values) {
  const experiment::InputFile file("profile.cubex", std::as_bytes(std::span(bytes)));
  return parse_cubex(file, most_values);
}

TEST(Cubex, memory_is_bounded_over_all_metrics_together) {
  // A metric takes its four values, and what says where they are.
  constexpr std::size_t values = 100;
  const CubexFile some = parse(profile(10, "main"), values);
  ASSERT_EQ(some.metrics.size(), 10u);
  EXPECT_EQ(some.metrics[9].values[1][1], 4.5);
  EXPECT_THROW(parse(profile(11, "main"), values), experiment::ReadError);
  EXPECT_EQ(parse(profile(11, "main"), most_cubex_values).metrics.size(), 11u);
}

TEST(Cubex, texts_cannot_control_the_terminal) {
  const CubexFile file = parse(profile(1, "ma\x1b[2Jin\x07"), most_cubex_values);
  EXPECT_EQ(file.nodes[0].name, "ma\xef\xbf\xbd[2Jin\xef\xbf\xbd");
}

}  // namespace
}  // namespace refrain::database
