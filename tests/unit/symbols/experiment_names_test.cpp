// Names that an experiment keeps: with the binary, without it, and when it comes later.
#include "offline/symbols/experiment_names.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

#include "tests/unit/symbols/compiled_programs.hpp"

namespace refrain::symbols {
namespace {

class KeptNames : public CompiledPrograms {
 protected:
  void SetUp() override {
    CompiledPrograms::SetUp();
    directory_ = folder_ / "experiment";
    fs::create_directory(directory_);
    program_ = compile("inlining.c", "-g -O2");
    id_ = build_id(program_);
    functions_ = functions(program_);
  }

  /// Each function of the program was interrupted, and each is on the way to the next one.
  std::shared_ptr<const experiment::Experiment> experiment(bool complete = true) const {
    experiment::WholeExperiment whole;
    whole.directory = directory_;
    whole.manifest.state = complete ? "complete" : "running";
    whole.profile.complete = complete;
    whole.profile.modules = {{program_, id_}, {"", ""}, {"[vdso]", ""}};
    whole.profile.paths = {{0, format::NodeKind::Root, -1, 0},
                           {0, format::NodeKind::Function, 1, 0x7f00},
                           {0, format::NodeKind::Function, 2, 0x900}};
    for (const Function& of : functions_) {
      whole.profile.paths.push_back({0, format::NodeKind::Function, 0, of.begin});
      whole.profile.paths.push_back({0, format::NodeKind::Frame, 0, of.begin + of.size / 2 + 1});
    }
    if (!copy_.empty()) {
      whole.profile.modules.push_back({copy_, id_});
      for (const Function& of : functions_) whole.profile.paths.push_back({0, format::NodeKind::Function, 3, of.begin});
    }
    return experiment::Experiment::of(std::move(whole));
  }

  struct Answer {
    std::vector<std::vector<SourceFrame>> frames;
    std::vector<std::string> notes;
    bool operator==(const Answer&) const = default;
  };
  Answer ask(bool complete = true, const NamingOptions& options = {}) const {
    const auto of = experiment(complete);
    Symbolizer symbolizer((folder_ / "debug").string());
    use_names(*of, symbolizer, options);
    Answer answer;
    for (const experiment::CallPath& path : of->definitions().paths)
      if (format::is_address(path.kind)) {
        const auto& module = of->definitions().modules[path.module];
        const bool is_frame = path.kind == format::NodeKind::Frame;
        answer.frames.push_back(symbolizer.resolve(module.path, module.build_id, path.offset,
                                                   is_frame ? Lookup::ReturnAddress : Lookup::Entry));
      }
    answer.notes = symbolizer.notes();
    return answer;
  }
  std::string kept() const {
    std::ifstream file(directory_ / names_file_name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  fs::path directory_;
  std::string program_, id_;
  std::string copy_;  ///< the program under another path, on which its functions were interrupted, too; empty: none
  std::vector<Function> functions_;
};

TEST_F(KeptNames, do_not_need_the_binary) {
  const Answer before = ask();
  EXPECT_TRUE(before.notes.empty());
  const std::string file = kept();
  EXPECT_FALSE(file.empty());
  EXPECT_EQ(files(), 1u);
  fs::remove(program_);
  EXPECT_EQ(ask(), before);
  EXPECT_EQ(kept(), file);
}

TEST_F(KeptNames, are_not_those_of_a_rebuilt_binary) {
  const Answer before = ask();
  compile("inlining.c", "-g -O0");
  ASSERT_NE(build_id(program_), id_);
  EXPECT_EQ(ask(), before);
}

TEST_F(KeptNames, of_an_experiment_without_a_file_are_found_again) {
  const Answer before = ask();
  fs::remove(directory_ / names_file_name);
  EXPECT_EQ(ask(), before);
  EXPECT_FALSE(kept().empty());
}

TEST_F(KeptNames, are_not_kept_while_the_job_runs) {
  EXPECT_TRUE(ask(false).notes.empty());
  EXPECT_EQ(kept(), "");
  EXPECT_TRUE(ask(false, {.has_ended = true}).notes.empty());
  EXPECT_NE(kept(), "");
}

TEST_F(KeptNames, need_no_directory_that_can_be_written) {
  const Answer before = ask();
  directory_ = folder_ / "gone";
  EXPECT_EQ(ask(), before);
  EXPECT_EQ(kept(), "");
}

TEST_F(KeptNames, of_a_stripped_binary_come_with_the_whole_one) {
  fs::copy(program_, folder_ / "whole");
  output_of("strip " + program_);
  const Answer stripped = ask();
  EXPECT_FALSE(std::ranges::all_of(stripped.frames, [](const auto& of) { return of.back().named; }));
  fs::remove(program_);
  EXPECT_EQ(ask(), stripped) << "where functions begin is kept, too";
  fs::copy(folder_ / "whole", program_);
  const Answer whole = ask();
  fs::remove(program_);
  EXPECT_EQ(ask(), whole);
  fs::remove(directory_ / names_file_name);
  fs::copy(folder_ / "whole", program_);
  EXPECT_EQ(ask(), whole) << "as if it had always been there";
}

TEST_F(KeptNames, come_with_a_debug_file) {
  fs::copy(program_, folder_ / "whole");
  output_of("strip -g " + program_);
  const Answer without = ask();
  const fs::path debug = folder_ / "debug/.build-id" / id_.substr(0, 2) / (id_.substr(2) + ".debug");
  fs::create_directories(debug.parent_path());
  output_of("objcopy --only-keep-debug " + (folder_ / "whole").string() + " " + debug.string());
  const Answer with = ask();
  EXPECT_NE(with, without);
  fs::remove(debug);
  EXPECT_EQ(ask(), with);
}

TEST_F(KeptNames, stay_open_where_no_binary_is) {
  fs::rename(program_, folder_ / "elsewhere");
  const Answer without = ask();
  ASSERT_EQ(without.notes.size(), 1u);
  EXPECT_NE(without.notes[0].find("cannot be opened"), std::string::npos);
  EXPECT_EQ(kept(), "") << "nothing was found that would be worth it";
  fs::rename(folder_ / "elsewhere", program_);
  EXPECT_TRUE(ask().notes.empty());
}

TEST_F(KeptNames, of_a_copy_that_is_gone_are_those_of_the_file_that_is_there) {
  const std::string name = fs::path(program_).filename();
  for (const bool is_first : {false, true}) {
    fs::remove(directory_ / names_file_name);
    copy_ = (folder_ / "gone" / name).string();
    if (is_first) std::swap(program_, copy_);
    const Answer answer = ask();
    EXPECT_TRUE(answer.notes.empty()) << is_first;
    constexpr std::size_t without_file = 2;
    ASSERT_EQ(answer.frames.size(), without_file + 3 * functions_.size());
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      EXPECT_TRUE(answer.frames[without_file + 2 * i].back().named) << i;
      EXPECT_EQ(answer.frames[without_file + 2 * functions_.size() + i], answer.frames[without_file + 2 * i]) << i;
    }
    if (is_first) std::swap(program_, copy_);
    fs::rename(program_, folder_ / "elsewhere");
    if (is_first) std::swap(program_, copy_);
    EXPECT_EQ(ask(), answer) << is_first;
    if (is_first) std::swap(program_, copy_);
    fs::rename(folder_ / "elsewhere", program_);
  }
}

TEST_F(KeptNames, of_a_better_source_are_not_replaced_by_a_tool_that_has_begun_before_it) {
  fs::copy(program_, folder_ / "whole");
  const Answer whole = ask();
  const std::string file = kept();
  fs::remove(directory_ / names_file_name);
  output_of("strip " + program_);
  const auto other_tool_keeps = [&](std::size_t, std::size_t) {
    std::ofstream(directory_ / names_file_name, std::ios::binary) << file;
  };
  ask(true, {.progress = other_tool_keeps});
  fs::remove(program_);
  EXPECT_EQ(ask(), whole);
}

TEST_F(KeptNames, can_miss_a_table_that_another_tool_removes) {
  fs::create_symlink(folder_ / "nowhere", directory_ / "functions-0123.refrain");
  EXPECT_TRUE(ask().notes.empty());  // an experiment in memory is strict
  EXPECT_NE(kept(), "");
}

TEST_F(KeptNames, do_not_wait_for_what_is_no_file) {
  fs::remove(program_);
  ASSERT_EQ(mkfifo(program_.c_str(), 0600), 0);
  const Answer answer = ask();
  ASSERT_EQ(answer.notes.size(), 1u);
  EXPECT_NE(answer.notes[0].find("is not a file"), std::string::npos);
}

TEST_F(KeptNames, that_cannot_be_read_are_damage_and_stay) {
  ask();
  std::string file = kept();
  file[file.size() / 2] ^= 1;
  std::ofstream(directory_ / names_file_name, std::ios::binary) << file;
  EXPECT_THROW(ask(), experiment::ReadError);  // an experiment in memory is strict
  EXPECT_EQ(kept(), file);
}

TEST_F(KeptNames, are_counted_by_module) {
  bool has_file = true;
  EXPECT_EQ(names_by_module(*experiment(), has_file).size(), 1u);
  EXPECT_FALSE(has_file);
  ask();
  const auto modules = names_by_module(*experiment(), has_file);
  EXPECT_TRUE(has_file);
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(modules[0].source, NameSource::Debug);
  EXPECT_EQ(modules[0].addresses, 2 * functions_.size());
  EXPECT_GT(modules[0].named, functions_.size());
  EXPECT_GT(modules[0].with_line, 0u);
  EXPECT_LE(modules[0].with_line, modules[0].named);
}

}  // namespace
}  // namespace refrain::symbols
