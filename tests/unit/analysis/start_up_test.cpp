// Where call paths begin: real stacks, printed by a program of their own, with and without symbols.
#include <array>
#include <cstdio>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "tests/unit/analysis/tree_of.hpp"

namespace refrain::analysis {
namespace {

using format::NodeKind;
using Names = std::vector<std::string>;

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

/// Call paths of the program's stacks, as the report names them.
std::map<std::string, Names> stacks(const std::string& options, const std::string& debug_directory) {
  char folder[] = "/tmp/refrain-stack-XXXXXX";
  EXPECT_NE(mkdtemp(folder), nullptr);
  const std::string program = std::string(folder) + "/stack";
  output_of(C_COMPILER " -O2 -pthread -rdynamic " + options + " " PROGRAMS "/stack.c -o " + program + " -ldl");
  std::istringstream lines(output_of(program));
  struct Frame {
    std::string module;
    std::uint64_t offset;
  };
  std::map<std::string, std::vector<Frame>> printed;
  std::string when, module, offset;
  while (lines >> when >> module >> offset) printed[when].push_back({module, std::stoull(offset, nullptr, 16)});

  std::map<std::string, Names> result;
  Symbolizer symbolizer(debug_directory);
  for (const auto& [tag, frames] : printed) {
    experiment::Profile profile;
    profile.regions = {"MPI_Barrier"};
    profile.paths = {{0, NodeKind::Root, -1, 0}};
    for (std::size_t i = frames.size(); i-- > 0;) {
      profile.modules.push_back({frames[i].module, ""});
      profile.paths.push_back({static_cast<std::uint32_t>(profile.paths.size() - 1), NodeKind::Frame,
                               static_cast<std::int32_t>(profile.modules.size() - 1), frames[i].offset});
    }
    profile.paths.push_back({static_cast<std::uint32_t>(profile.paths.size() - 1), NodeKind::Region, -1, 0});
    experiment::Unit unit;
    unit.wall = unit.mpi = 5;
    unit.values = {{static_cast<std::uint32_t>(profile.paths.size() - 1), 0}};
    unit.columns = {1, 5, 0, 0, 0, 0};
    experiment::Location location;
    location.units = {unit};
    experiment::Rank rank;
    rank.locations = {location};
    profile.ranks = {rank};
    const CallTree tree = build_call_tree(profile, symbolizer);
    result[tag] = path_to(tree, static_cast<std::uint32_t>(tree.nodes.size() - 1));
  }
  std::filesystem::remove_all(folder);
  return result;
}

/// With and without the names of libc's hidden functions, where this system has them.
const char* const debug_directories[] = {"/usr/lib/debug", "/nonexistent"};

TEST(StartUp, paths_begin_at_main_and_at_the_functions_of_threads) {
  for (const char* debug_directory : debug_directories) {
    const auto paths = stacks("", debug_directory);
    EXPECT_EQ(paths.at("main"), (Names{"main", "show", "MPI_Barrier"}));
    EXPECT_EQ(paths.at("thread"), (Names{"body", "show", "MPI_Barrier"}));
    EXPECT_EQ(paths.at("early"), (Names{"early", "show", "MPI_Barrier"}));
    const Names& exit = paths.at("exit");
    EXPECT_EQ(exit.front(), "exit");
    EXPECT_EQ((Names{exit.end() - 3, exit.end()}), (Names{"leave", "show", "MPI_Barrier"}));
  }
}

TEST(StartUp, main_is_recognised_without_symbols) {
  // -rdynamic exports what is not hidden; hidden and stripped, the program has no name for anything.
  for (const char* debug_directory : debug_directories) {
    const auto paths = stacks("-fvisibility=hidden -s", debug_directory);
    const Names& main = paths.at("main");
    ASSERT_EQ(main.size(), 3u);
    EXPECT_EQ(main[0], "main");
    EXPECT_TRUE(main[1].starts_with("stack+0x")) << main[1];
    EXPECT_TRUE(paths.at("thread").front().starts_with("stack+0x")) << paths.at("thread").front();
    EXPECT_NE(paths.at("early").front(), "main");
  }
}

}  // namespace
}  // namespace refrain::analysis
