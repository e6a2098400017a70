#pragma once
/// Small programs that tests of symbols compile while they run, and what binutils say of them.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace refrain::symbols {

namespace fs = std::filesystem;

inline std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct Function {
  std::uint64_t begin, size;
  std::string name;
};

/// A folder with programs, which goes away at the end.
class CompiledPrograms : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/refrain-symbols-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string compile(const std::string& source, const std::string& options, const std::string& name = "program") {
    const std::string extension = fs::path(source).extension();
    const std::string compiler = extension == ".c" ? C_COMPILER : extension == ".cpp" ? CXX_COMPILER : FORTRAN_COMPILER;
    const std::string program = (folder_ / name).string();
    // gfortran writes its module file into the current folder.
    output_of("cd " + folder_.string() + " && " + compiler + " -Wl,--build-id " + options + " " PROGRAMS "/" + source +
              " -o " + program);
    return program;
  }
  static std::string build_id(const std::string& program) {
    const std::string notes = output_of("readelf -n " + program);
    const auto at = notes.find("Build ID: ");
    return at == notes.npos ? "" : notes.substr(at + 10, notes.find('\n', at) - at - 10);
  }
  static std::vector<Function> functions(const std::string& program, const std::string& nm_options = "") {
    std::vector<Function> list;
    for (const auto& line : lines_of(output_of("nm -S --defined-only " + nm_options + " " + program))) {
      std::istringstream in(line);
      std::string begin, size, type, name;
      in >> begin >> size >> type >> name;
      if (name.empty() || std::string("tTwWi").find(type) == std::string::npos) continue;
      list.push_back({std::stoull(begin, nullptr, 16), std::stoull(size, nullptr, 16), name});
    }
    return list;
  }
  /// With those that have no size, which nm -S leaves out.
  static std::vector<Function> functions_and_labels(const std::string& program) {
    std::vector<Function> list;
    for (const auto& line : lines_of(output_of("nm --defined-only " + program))) {
      std::istringstream in(line);
      std::string begin, type, name;
      in >> begin >> type >> name;
      if (type == "T" || type == "t") list.push_back({std::stoull(begin, nullptr, 16), 0, name});
    }
    return list;
  }

  fs::path folder_;
};

}  // namespace refrain::symbols
