// Tables of functions: those of nm, through a file and back, and what a module is called by them.
#include "offline/symbols/function_table.hpp"

#include <algorithm>
#include <memory>

#include "offline/symbols/named_module.hpp"
#include "tests/unit/symbols/compiled_programs.hpp"

namespace refrain::symbols {
namespace {

class FunctionTableTest : public CompiledPrograms {
 protected:
  static constexpr std::chrono::milliseconds long_enough{10'000};
  static constexpr std::size_t large_enough = std::size_t{1} << 24;

  /// By name; all of the program's own have one.
  static std::uint64_t begin_of(const std::vector<Function>& functions, const std::string& name) {
    const auto at = std::ranges::find(functions, name, &Function::name);
    return at == functions.end() ? 0 : at->begin;
  }
};

TEST_F(FunctionTableTest, has_the_functions_of_nm) {
  const std::string program = compile("inlining.c", "-O2");
  const FunctionTable table = functions_of(program);
  EXPECT_EQ(table.path, program);
  EXPECT_EQ(table.build_id, build_id(program));
  EXPECT_TRUE(std::ranges::is_sorted(table.functions, {}, &FunctionTable::Function::begin));
  for (const Function& of : functions(program)) {
    if (of.size == 0) continue;
    const auto at = std::ranges::find(table.functions, of.begin, &FunctionTable::Function::begin);
    ASSERT_NE(at, table.functions.end()) << of.name;
    EXPECT_EQ(at->size, of.size) << of.name;
  }
}

TEST_F(FunctionTableTest, of_a_stripped_program_has_exported_functions_alone) {
  const std::string program = compile("inlining.c", "-O2 -rdynamic");
  const auto list = functions(program);
  output_of("strip " + program);
  const FunctionTable table = functions_of(program);
  EXPECT_EQ(frame_in(table, {begin_of(list, "main"), Lookup::Entry}).function, "main");
  EXPECT_FALSE(frame_in(table, {begin_of(list, "hidden"), Lookup::Entry}).named);
}

TEST_F(FunctionTableTest, of_what_is_no_program_is_empty) {
  EXPECT_TRUE(functions_of((folder_ / "gone").string()).functions.empty());
  EXPECT_TRUE(functions_of(folder_.string()).functions.empty());
  EXPECT_TRUE(function_tables_of(std::vector{(folder_ / "gone").string()}, long_enough, large_enough).bytes.empty());
}

TEST_F(FunctionTableTest, of_a_program_without_a_build_id_has_what_stands_for_it) {
  const std::string program = compile("inlining.c", "-O2 -Wl,--build-id=none");
  EXPECT_TRUE(functions_of(program).build_id.starts_with("0066696c65")) << "the mark of format/file_identity.hpp";
}

TEST_F(FunctionTableTest, comes_through_a_file) {
  const std::string program = compile("inlining.c", "-O2"), other = compile("templates.cpp", "-O1", "other");
  const FunctionTables tables = function_tables_of(std::vector{program, other}, long_enough, large_enough);
  EXPECT_EQ(tables.id, build_id(program));
  const auto found = parse_function_tables(experiment::InputFile("f", tables.bytes));
  ASSERT_EQ(found.size(), 2u);
  for (const FunctionTable& of : found) {
    const FunctionTable truth = functions_of(of.path);
    EXPECT_EQ(of.build_id, truth.build_id);
    ASSERT_EQ(of.functions.size(), truth.functions.size());
    for (std::size_t i = 0; i < of.functions.size(); ++i) {
      EXPECT_EQ(of.functions[i].begin, truth.functions[i].begin);
      EXPECT_EQ(of.functions[i].size, truth.functions[i].size);
      EXPECT_EQ(of.functions[i].name, truth.functions[i].name);
    }
  }
}

TEST_F(FunctionTableTest, leaves_out_libraries_that_do_not_fit) {
  const std::string program = compile("inlining.c", "-O2"), other = compile("templates.cpp", "-O1", "other");
  const std::size_t alone = function_tables_of(std::vector{program}, long_enough, large_enough).bytes.size();
  const FunctionTables tables = function_tables_of(std::vector{program, other}, long_enough, alone);
  EXPECT_EQ(parse_function_tables(experiment::InputFile("f", tables.bytes)).size(), 1u);
  EXPECT_TRUE(function_tables_of(std::vector{program}, long_enough, alone - 1).bytes.empty());
}

TEST_F(FunctionTableTest, that_is_damaged_is_refused) {
  const std::string program = compile("inlining.c", "-O2");
  const FunctionTables tables = function_tables_of(std::vector{program}, long_enough, large_enough);
  for (std::size_t at = 0; at < tables.bytes.size(); at += 7) {
    auto changed = tables.bytes;
    changed[at] ^= std::byte{4};
    EXPECT_THROW(parse_function_tables(experiment::InputFile("f", changed)), experiment::ReadError) << at;
  }
}

TEST_F(FunctionTableTest, names_a_module_until_its_file_is_there) {
  const std::string program = compile("inlining.c", "-g -O2");
  const auto list = functions(program);
  const Place of_main{begin_of(list, "main"), Lookup::Entry};
  const auto table = std::make_shared<const FunctionTable>(functions_of(program));
  const std::string id = build_id(program);
  fs::rename(program, folder_ / "away");
  NamedModule without(program, id, "/nowhere");
  without.take(table);
  EXPECT_TRUE(without.complete(std::vector{of_main}, [] {}));
  EXPECT_EQ(without.names().source, NameSource::Functions);
  EXPECT_EQ(without.names().why, "");
  EXPECT_EQ(without.frames(of_main)[0].function, "main");
  EXPECT_EQ(without.frames(of_main)[0].line, 0);
  const ModuleNames kept = without.names();

  fs::rename(folder_ / "away", program);
  NamedModule with(program, id, "/nowhere");
  with.take(kept);
  EXPECT_TRUE(with.complete(std::vector{of_main}, [] {}));
  EXPECT_EQ(with.names().source, NameSource::Debug);
  EXPECT_GT(with.frames(of_main)[0].line, 0);
}

}  // namespace
}  // namespace refrain::symbols
