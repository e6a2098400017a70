// Symbol resolution against binutils: every program is compiled here, and nm and addr2line tell the truth.
#include "offline/symbols/symbols.hpp"

#include <fstream>
#include <map>
#include <memory>

#include "format/file_identity.hpp"
#include "offline/symbols/names.hpp"
#include "tests/unit/symbols/compiled_programs.hpp"

namespace refrain::symbols {
namespace {

class Symbols : public CompiledPrograms {
 protected:
  std::string name_at(const std::string& program, std::uint64_t address, const std::string& id) {
    return symbolizer().resolve(program, id, address, Lookup::Entry).back().function;
  }
  Symbolizer& symbolizer() {
    if (!symbolizer_) symbolizer_ = std::make_unique<Symbolizer>((folder_ / "debug").string());
    return *symbolizer_;
  }
  void forget() { symbolizer_.reset(); }

  /// Every instruction start of every function of the program's own source, as the return address after it.
  void compare_with_addr2line(const std::string& program, const std::string& source) {
    struct Truth {
      std::string function, file;
      int line;
    };
    std::vector<std::uint64_t> addresses;
    for (const auto& f : functions(program))
      for (std::uint64_t a = f.begin; a < f.begin + f.size && f.name[0] != '.'; a += 3) addresses.push_back(a);
    ASSERT_GT(addresses.size(), 50u);
    std::ofstream list(folder_ / "addresses");
    for (const auto address : addresses) list << std::hex << address << "\n";
    list.close();
    const auto lines =
        lines_of(output_of("addr2line -a -i -f -C -e " + program + " < " + (folder_ / "addresses").string()));
    std::vector<std::vector<Truth>> truths;
    for (std::size_t i = 0; i < lines.size();) {
      if (lines[i].starts_with("0x")) {
        truths.emplace_back();
        ++i;
        continue;
      }
      const std::string& place = lines[i + 1];
      const auto colon = place.rfind(':');
      truths.back().push_back(
          {lines[i], std::string(base_name(place.substr(0, colon))), std::atoi(place.c_str() + colon + 1)});
      i += 2;
    }
    ASSERT_EQ(truths.size(), addresses.size());
    std::size_t compared = 0, inlined = 0, functions_differ = 0, places_differ = 0;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (truths[i].back().file != source) continue;  // start-up code of the system
      const auto& frames = symbolizer().resolve(program, build_id_, addresses[i] + 1, Lookup::ReturnAddress);
      ++compared;
      inlined += frames.size() > 1;
      ASSERT_EQ(frames.size(), truths[i].size()) << std::hex << addresses[i];
      for (std::size_t j = 0; j < frames.size(); ++j) {
        const std::string truth = function_name(truths[i][j].function).text;
        // For a template on a local type, which has no linker name, addr2line gives the caller's name.
        const bool same = frames[j].function == truth || !frames[j].full;
        if (!same && functions_differ++ == 0)
          ADD_FAILURE() << std::hex << addresses[i] << ": " << frames[j].function << ", not " << truth;
        const bool here = base_name(frames[j].file) == truths[i][j].file && frames[j].line == truths[i][j].line;
        if (!here && places_differ++ == 0)
          ADD_FAILURE() << std::hex << addresses[i] << std::dec << ": " << frames[j].file << ":" << frames[j].line
                        << ", not " << truths[i][j].file << ":" << truths[i][j].line;
      }
    }
    EXPECT_EQ(functions_differ, 0u);
    EXPECT_EQ(places_differ, 0u);
    EXPECT_GT(compared, 30u);
    EXPECT_GT(inlined, 5u);
  }

  std::string build_id_;
  std::unique_ptr<Symbolizer> symbolizer_;
};

TEST_F(Symbols, dwarf_of_inlined_c_agrees_with_addr2line) {
  for (const char* options : {"-g -O2", "-g -O3 -no-pie -fno-pie", "-g -gdwarf-4 -O1", "-g1 -O2"}) {
    SCOPED_TRACE(options);
    const std::string program = compile("inlining.c", options);
    build_id_ = build_id(program);
    ASSERT_EQ(build_id_.size(), 40u);
    forget();
    compare_with_addr2line(program, "inlining.c");
    EXPECT_TRUE(symbolizer().notes().empty());
  }
}

TEST_F(Symbols, dwarf_of_templates_agrees_with_addr2line) {
  const std::string program = compile("templates.cpp", "-g -O2");
  build_id_ = build_id(program);
  compare_with_addr2line(program, "templates.cpp");
}

TEST_F(Symbols, inlined_calls_are_expanded_to_their_lines) {
  for (const char* options : {"-g -O2", "-g -O2 -gsplit-dwarf"}) {
    SCOPED_TRACE(options);
    const std::string program = compile("inlining.c", options);
    forget();
    // The call of `work` in `hidden`: disassembled by binutils.
    std::uint64_t after_call = 0;
    bool in_hidden = false, next = false;
    for (const auto& line : lines_of(output_of("objdump -d --no-show-raw-insn " + program))) {
      if (line.ends_with(">:")) in_hidden = line.ends_with("<hidden>:");
      if (next && after_call == 0) after_call = std::stoull(line, nullptr, 16);
      next = in_hidden && line.find("call") != line.npos && line.find("<work>") != line.npos;
    }
    ASSERT_NE(after_call, 0u);
    std::vector<std::string> names;
    const auto& frames = symbolizer().resolve(program, build_id(program), after_call, Lookup::ReturnAddress);
    for (const auto& frame : frames) names.push_back(frame.function + ":" + std::to_string(frame.line));
    EXPECT_EQ(names, (std::vector<std::string>{"innermost:9", "middle:14", "outer:18", "hidden:22"}));
    EXPECT_EQ(base_name(frames[0].file), "inlining.c");
  }
}

TEST_F(Symbols, symbol_tables_do_without_dwarf) {
  for (const char* source : {"inlining.c", "templates.cpp"}) {
    const std::string program = compile(source, "-O2");
    const std::string id = build_id(program);
    forget();
    int compared = 0;
    for (const auto& f : functions(program)) {
      const std::string truth = function_name(f.name).text;
      EXPECT_EQ(name_at(program, f.begin, id), truth);
      EXPECT_EQ(symbolizer().resolve(program, id, f.begin + f.size, Lookup::ReturnAddress).back().function, truth);
      ++compared;
    }
    EXPECT_GE(compared, 4);
  }
}

TEST_F(Symbols, stripped_programs_show_offsets_and_exported_names_only) {
  const std::string program = compile("inlining.c", "-O2 -rdynamic");
  const auto all = functions(program);
  output_of("strip " + program);
  const std::string id = build_id(program);
  std::map<std::uint64_t, std::string> exported;
  for (const auto& f : functions(program, "-D")) exported[f.begin] = f.name;
  int named = 0, anonymous = 0;
  for (const auto& f : all) {
    const std::string name = name_at(program, f.begin, id);
    char offset[64];
    std::snprintf(offset, sizeof offset, "program+0x%llx", static_cast<unsigned long long>(f.begin));
    if (exported.contains(f.begin)) {
      EXPECT_EQ(name, exported[f.begin]);
      ++named;
    } else {
      EXPECT_EQ(name, offset);
      ++anonymous;
    }
  }
  EXPECT_GT(named, 1);
  EXPECT_GT(anonymous, 0);
}

TEST_F(Symbols, an_exported_symbol_without_a_size_names_nothing_behind_it) {
  const std::string program = compile("unsized.c", "-O2 -rdynamic");
  std::uint64_t begin = 0;
  for (const auto& f : functions_and_labels(program))
    if (f.name == "unsized") begin = f.begin;
  ASSERT_NE(begin, 0u);
  EXPECT_EQ(name_at(program, begin + 32, build_id(program)), "unsized");  // .symtab has all functions
  output_of("strip " + program);
  forget();
  EXPECT_TRUE(name_at(program, begin + 32, build_id(program)).starts_with("program+0x"));
}

TEST_F(Symbols, call_sites_of_an_unnamed_function_share_its_first_address) {
  const std::string program = compile("inlining.c", "-O2");
  std::uint64_t begin = 0, size = 0;
  for (const auto& f : functions(program))
    if (f.name == "hidden") begin = f.begin, size = f.size;
  output_of("strip " + program);
  const std::string id = build_id(program);
  ASSERT_GT(size, 20u);
  const std::string name = name_at(program, begin, id);
  EXPECT_EQ(symbolizer().resolve(program, id, begin + size / 2, Lookup::ReturnAddress).back().function, name);
  EXPECT_FALSE(symbolizer().resolve(program, id, begin, Lookup::Entry).back().named);
}

/// By the begin of its unwind table entry, not of one of the rows of that; `.cold` is a part of the function that jumps
/// there.
TEST_F(Symbols, all_code_of_an_unnamed_function_has_one_name) {
  for (const char* options :
       {"-O2", "-O2 -rdynamic", "-O2 -Wl,--no-eh-frame-hdr", "-O2 -Wl,-z,max-page-size=0x200000"}) {
    SCOPED_TRACE(options);
    const std::string program = compile("pieces.c", options);
    const auto all = functions(program);
    output_of("strip " + program);
    const std::string id = build_id(program);
    forget();
    int compared = 0, parts = 0;
    for (const auto& f : all) {
      const std::string function = f.name.substr(0, f.name.find(".cold"));
      if (!function.starts_with("wide") && function != "rows" && function != "risky") continue;
      std::string expected;
      for (const auto& whole : all)
        if (whole.name == function) expected = name_at(program, whole.begin, id);
      for (std::uint64_t i = 1; i <= f.size; ++i, ++compared)
        ASSERT_EQ(symbolizer().resolve(program, id, f.begin + i, Lookup::ReturnAddress).back().function, expected)
            << f.name << " + " << i;
      parts += f.name != function;
    }
    EXPECT_GT(compared, 100);
    EXPECT_GT(parts, 0) << "the compiler has put nothing apart";
  }
}

TEST_F(Symbols, the_entry_point_is_known_without_symbols) {
  const std::string program = compile("inlining.c", "-O2 -s");
  const std::string header = output_of("readelf -h " + program);
  const std::uint64_t entry = std::stoull(header.substr(header.find("Entry point address:") + 20), nullptr, 16);
  EXPECT_EQ(symbolizer().resolve(program, build_id(program), entry + 0x21, Lookup::ReturnAddress).back().function,
            "_start");
}

TEST_F(Symbols, separate_debug_files_are_found_by_build_id) {
  const std::string program = compile("inlining.c", "-g -O2");
  build_id_ = build_id(program);
  const fs::path debug = folder_ / "debug/.build-id" / build_id_.substr(0, 2) / (build_id_.substr(2) + ".debug");
  fs::create_directories(debug.parent_path());
  output_of("objcopy --only-keep-debug " + program + " " + debug.string());
  fs::copy(program, folder_ / "whole");
  output_of("strip " + program);
  const auto& frames =
      symbolizer().resolve(program, build_id_, functions((folder_ / "whole").string()).front().begin, Lookup::Entry);
  EXPECT_TRUE(frames.back().named);
  forget();
  fs::copy(folder_ / "whole", program, fs::copy_options::overwrite_existing);  // for nm and addr2line
  const auto list = functions(program);
  output_of("strip " + program);
  int lines = 0;
  for (const auto& f : list) {
    if (f.name != "hidden" && f.name != "main" && f.name != "work") continue;
    const auto& at = symbolizer().resolve(program, build_id_, f.begin, Lookup::Entry).back();
    EXPECT_EQ(at.function, f.name);
    lines += base_name(at.file) == "inlining.c" && at.line > 0;
  }
  EXPECT_EQ(lines, 3);
}

TEST_F(Symbols, separate_debug_files_are_found_by_link) {
  const std::string program = compile("inlining.c", "-g -O2");
  const auto list = functions(program);
  const std::string debug = (folder_ / "program.debug").string();
  output_of("objcopy --only-keep-debug " + program + " " + debug);
  output_of("strip " + program + " && cd " + folder_.string() + " && objcopy --add-gnu-debuglink=program.debug " +
            program);
  for (const auto& f : list)
    if (f.name == "hidden") {
      EXPECT_EQ(name_at(program, f.begin, build_id(program)), "hidden");
    }
}

TEST_F(Symbols, minidebuginfo_gives_the_names_of_hidden_functions) {
  const std::string program = compile("inlining.c", "-O2");
  const auto list = functions(program);
  const std::string mini = (folder_ / "mini").string();
  output_of("objcopy -S --keep-symbol=hidden --keep-symbol=work --only-keep-debug " + program + " " + mini + " && xz " +
            mini);
  output_of("strip " + program + " && objcopy --add-section .gnu_debugdata=" + mini + ".xz " + program);
  int found = 0;
  for (const auto& f : list)
    if (f.name == "hidden" || f.name == "work") found += name_at(program, f.begin, build_id(program)) == f.name;
  EXPECT_EQ(found, 2);
}

TEST_F(Symbols, another_build_gives_no_names_but_a_note) {
  const std::string program = compile("inlining.c", "-O2");
  const std::string id = build_id(program);
  const std::uint64_t begin = functions(program).front().begin;
  compile("inlining.c", "-O0");
  ASSERT_NE(build_id(program), id);
  EXPECT_TRUE(name_at(program, begin, id).starts_with("program+0x"));
  ASSERT_EQ(symbolizer().notes().size(), 1u);
  EXPECT_NE(symbolizer().notes()[0].find("is not the file that ran"), std::string::npos);
}

TEST_F(Symbols, another_file_at_the_path_of_a_module_without_a_build_id_gives_no_names_but_a_note) {
  const auto identity_of = [](const std::string& program) {
    std::ifstream file(program, std::ios::binary);
    std::uint8_t identity[format::file_identity_size];
    EXPECT_TRUE(format::identify_file(
        fs::file_size(program),
        [&](std::uint64_t offset, std::byte* bytes, std::size_t size) {
          file.seekg(static_cast<std::streamoff>(offset));
          return bool(file.read(reinterpret_cast<char*>(bytes), static_cast<std::streamsize>(size)));
        },
        identity));
    std::string text;
    for (const unsigned byte : identity)
      text += std::string(1, "0123456789abcdef"[byte >> 4]) + "0123456789abcdef"[byte & 15];
    return text;
  };
  const std::string program = compile("inlining.c", "-O2 -Wl,--build-id=none");
  const std::string id = identity_of(program);
  const Function function = functions(program).front();
  EXPECT_EQ(name_at(program, function.begin, id), function.name);
  EXPECT_EQ(name_at(program, function.begin, ""), function.name) << "of an older experiment";
  EXPECT_TRUE(symbolizer().notes().empty());
  compile("inlining.c", "-O0 -Wl,--build-id=none");
  EXPECT_NE(identity_of(program), id);
  forget();
  EXPECT_TRUE(name_at(program, function.begin, id).starts_with("program+0x"));
  ASSERT_EQ(symbolizer().notes().size(), 1u);
  EXPECT_NE(symbolizer().notes()[0].find("is not the file that ran"), std::string::npos);
}

TEST_F(Symbols, a_rebuilt_program_keeps_its_names_when_its_debug_file_is_there) {
  const std::string program = compile("inlining.c", "-g -O2");
  const std::string id = build_id(program);
  const auto list = functions(program);
  const fs::path debug = folder_ / "debug/.build-id" / id.substr(0, 2) / (id.substr(2) + ".debug");
  fs::create_directories(debug.parent_path());
  output_of("objcopy --only-keep-debug " + program + " " + debug.string());
  fs::remove(program);
  for (const auto& f : list)
    if (f.name == "hidden") {
      EXPECT_EQ(name_at(program, f.begin, id), "hidden");
    }
  EXPECT_TRUE(symbolizer().notes().empty());
}

TEST_F(Symbols, names_of_source_files_cannot_control_the_terminal) {
  std::ofstream(folder_ / "evil.c") << "#line 1 \"evil\\033[2J\\007.c\"\nint main(void) { return 0; }\n";
  const std::string program = (folder_ / "program").string();
  output_of("cd " + folder_.string() + " && " C_COMPILER " -g -Wl,--build-id evil.c -o program");
  for (const auto& f : functions(program)) {
    if (f.name != "main") continue;
    const auto& frame = symbolizer().resolve(program, build_id(program), f.begin + 1, Lookup::ReturnAddress).back();
    EXPECT_EQ(base_name(frame.file), "evil\xef\xbf\xbd[2J\xef\xbf\xbd.c");
  }
}

TEST_F(Symbols, missing_and_foreign_files_are_notes) {
  std::ofstream(folder_ / "text") << "no ELF file at all";
  EXPECT_EQ(name_at((folder_ / "text").string(), 0x1234, ""), "text+0x1234");
  EXPECT_EQ(name_at((folder_ / "gone.so").string(), 0x1234, "abcdef"), "gone.so+0x1234");
  EXPECT_EQ(name_at("[vdso]", 0x900, ""), "[vdso]");
  EXPECT_EQ(name_at("", 0x7f00, ""), "0x7f00");
  EXPECT_EQ(symbolizer().notes().size(), 2u);
}

TEST_F(Symbols, plt_stubs_are_named_after_what_they_call) {
  for (const char* options : {"-O2", "-O2 -fcf-protection", "-O2 -no-pie -fno-pie", "-O2 -Wl,-z,now"}) {
    const std::string program = compile("inlining.c", std::string(options) + " -Wl,-z,lazy");
    const std::string id = build_id(program);
    forget();
    int stubs = 0;
    for (const auto& line :
         lines_of(output_of("objdump -d -j .plt -j .plt.sec -j .plt.got " + program + " 2>/dev/null || true"))) {
      const auto open = line.find('<');
      if (open == line.npos || !line.ends_with("@plt>:")) continue;
      std::string name = line.substr(open + 1, line.size() - open - 3);
      if (name.starts_with("*")) continue;
      EXPECT_EQ(name_at(program, std::stoull(line, nullptr, 16), id), name);
      ++stubs;
    }
    EXPECT_GT(stubs, 0) << options;
  }
}

TEST_F(Symbols, fortran_procedures_have_the_names_of_their_source) {
  if (std::string(FORTRAN_COMPILER).find("NOTFOUND") != std::string::npos) GTEST_SKIP() << "no Fortran compiler";
  const std::string program = compile("procedures.f90", "-g -O0");
  const std::string id = build_id(program);
  std::map<std::string, std::string> found;
  for (const auto& f : functions(program)) found[f.name] = name_at(program, f.begin, id);
  EXPECT_EQ(found["__solver_MOD_relax"], "solver::relax");
  EXPECT_EQ(found["outside_"], "outside");
  EXPECT_EQ(found["main"], "main");
  bool contained = false;
  for (const auto& [symbol, name] : found)
    if (symbol.starts_with("update.")) contained = name == "update" || name.ends_with("::update");
  EXPECT_TRUE(contained);
}

}  // namespace
}  // namespace refrain::symbols
