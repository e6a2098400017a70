/// The rules of real binaries against those that binutils' readelf works out, and the two ways to find a table.

#include "unwind/tables.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "unwind/call_frame_program.hpp"
#include "unwind/rule.hpp"
#include "unwind/rule_cache.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind {
namespace {

/// One row of `readelf --debug-dump=frames-interp`: by register name how it is found.
struct OracleRow {
  std::uintptr_t address;
  std::map<std::string, std::string> columns;
};

std::vector<OracleRow> rows_by_readelf(const std::string& path) {
  std::vector<OracleRow> rows;
  const std::string command = "readelf -W --debug-dump=no-follow-links,frames-interp '" + path + "' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  char line[512];
  std::vector<std::string> names;
  while (pipe && std::fgets(line, sizeof line, pipe.get())) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.empty()) continue;
    if (fields[0] == "LOC") {
      names = fields;
    } else if (fields[0].size() == 16 && fields.size() == names.size() && std::string(line).find("cie") > 500) {
      OracleRow row{std::strtoull(fields[0].c_str(), nullptr, 16), {}};
      for (std::size_t i = 1; i < names.size(); ++i) row.columns[names[i]] = fields[i];
      rows.push_back(row);
    } else {
      names.clear();
    }
  }
  return rows;
}

struct LoadedModule {
  std::string path;
  std::uintptr_t base;
};

std::vector<LoadedModule> loaded_modules() {
  std::vector<LoadedModule> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        const std::string name = info->dlpi_name;
        if (name.find("vdso") == std::string::npos)
          static_cast<std::vector<LoadedModule>*>(data)->push_back(
              {name.empty() ? "/proc/self/exe" : name, info->dlpi_addr});
        return 0;
      },
      &modules);
  modules[0].path = program_invocation_name;
  return modules;
}

std::string text(char base, std::int64_t offset) {
  std::string result(1, base);
  if (offset >= 0) result += '+';
  return result + std::to_string(offset);
}

/// What readelf would print for the CFA of a rule that was not an expression.
std::string cfa_text(const Rule& rule) {
  const char* const base = rule.kind == Rule::Kind::CfaFromSp ? "rsp" : "rbp";
  return std::string(base) + (rule.cfa_offset >= 0 ? "+" : "") + std::to_string(rule.cfa_offset);
}

void compare(const OracleRow& row, const Rule& rule, std::uint64_t& compared, std::uint64_t& different) {
  const auto column = [&](const char* name) {
    const auto found = row.columns.find(name);
    return found == row.columns.end() ? std::string("u") : found->second;
  };
  ++compared;
  const std::string cfa = column("CFA"), fp = column("rbp"), ra = column("ra");
  bool same = true;
  if (ra == "u") {
    same = rule.kind == Rule::Kind::Outermost;
  } else if (rule.kind == Rule::Kind::Outermost) {
    same = false;
  } else if (rule.kind == Rule::Kind::CfaFromSp || rule.kind == Rule::Kind::CfaFromFp) {
    same = ra == "c-8" && (cfa == "exp" || cfa == cfa_text(rule));
    if (fp == "u" || fp == "s") same = same && rule.saved_fp == Rule::SavedFp::Unchanged;
    else if (fp[0] == 'c') same = same && rule.saved_fp == Rule::SavedFp::AtCfa && fp == text('c', rule.fp_offset);
    else same = same && fp == "exp";
  } else if (rule.kind == Rule::Kind::CfaInWord) {
    same = ra == "c-8" && cfa == "exp";
  } else if (rule.kind == Rule::Kind::NeedsAll || rule.kind == Rule::Kind::Signal) {
    same = cfa == "exp" || fp == "exp" || ra != "c-8" || (cfa.substr(0, 3) != "rsp" && cfa.substr(0, 3) != "rbp");
  } else {
    same = false;
  }
  if (same) return;
  if (++different > 10) return;
  std::printf("%lx: readelf CFA %s rbp %s ra %s, rule kind %d CFA %s fp %d %d\n", row.address, cfa.c_str(), fp.c_str(),
              ra.c_str(), int(rule.kind), cfa_text(rule).c_str(), int(rule.saved_fp), rule.fp_offset);
}

TEST(Tables, the_rule_cache_is_resident_before_its_first_rule) {
  ASSERT_TRUE(start_rule_cache());
  constexpr std::size_t bytes = sizeof(RuleSlot) * rule_ways * (std::size_t{1} << rule_set_bits);
  std::vector<unsigned char> resident(bytes / 4096);
  ASSERT_EQ(mincore(rule_slots, bytes, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return page & 1; }),
            static_cast<std::ptrdiff_t>(resident.size()));
}

TEST(Tables, rules_of_all_loaded_modules_are_those_of_readelf) {
  if (std::system("readelf --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no readelf";
  ASSERT_TRUE(start_rule_cache());
  std::uint64_t compared = 0, different = 0;
  for (const LoadedModule& module : loaded_modules()) {
    const auto rows = rows_by_readelf(module.path);
    EXPECT_GT(rows.size(), 10u) << module.path;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].address == 0) continue;  // of a function that the linker left out
      Rule rule;
      ASSERT_TRUE(read_rule(module.base + rows[i].address, true, rule));
      compare(rows[i], rule, compared, different);
      // The row holds up to the next one's address; a return address there is looked up in this row.
      const bool next_follows = i + 1 < rows.size() && rows[i + 1].address - rows[i].address < 32;
      if (next_follows && rows[i + 1].columns.size() == rows[i].columns.size() && rule.kind != Rule::Kind::NeedsAll) {
        Rule at_end;
        ASSERT_TRUE(read_rule(module.base + rows[i].address + 1, false, at_end));
        // Where a function begins right after, nothing calls: that is the outer end of a stack.
        if (at_end.function_offset < 0) continue;
        EXPECT_EQ(at_end.function_offset, rule.function_offset);
        if (at_end.kind != Rule::Kind::Signal) compare(rows[i], at_end, compared, different);
      }
    }
  }
  std::printf("%lu rows compared\n", compared);
  EXPECT_GT(compared, 50'000u);
  EXPECT_EQ(different, 0u);
}

TEST(Tables, own_list_finds_what_libc_finds) {
  if (best_table_source() != TableSource::Libc) GTEST_SKIP() << "this libc has no _dl_find_object";
  ASSERT_TRUE(start_rule_cache());
  std::mt19937_64 random(1);
  for (const LoadedModule& module : loaded_modules()) {
    for (int i = 0; i < 1000; ++i) {
      const std::uintptr_t address = module.base - 0x10000 + random() % 0x300000;
      Table by_libc{}, by_list{};
      use_tables_of(TableSource::Libc);
      const bool found_by_libc = find_table(address, by_libc);
      use_tables_of(TableSource::Own);
      const bool found_by_list = find_table(address, by_list);
      ASSERT_EQ(found_by_list, found_by_libc) << module.path << std::hex << address;
      EXPECT_EQ(by_list.eh_frame_hdr, by_libc.eh_frame_hdr);
    }
  }
  use_tables_of(TableSource::Libc);
}

TEST(Tables, damaged_tables_are_refused_within_their_bounds) {
  // libc's own tables, copied next to an unmapped page and damaged: reading past the end would fault.
  ASSERT_TRUE(start_rule_cache());
  Table table;
  ASSERT_TRUE(find_table(reinterpret_cast<std::uintptr_t>(&std::qsort), table));
  FrameEntry entry;
  ASSERT_TRUE(find_frame_entry(table, reinterpret_cast<std::uintptr_t>(&std::qsort), entry));
  const std::size_t size = entry.own.end - entry.own.begin;
  std::vector<std::uint8_t> program(reinterpret_cast<const std::uint8_t*>(entry.own.begin),
                                    reinterpret_cast<const std::uint8_t*>(entry.own.end));
  std::mt19937_64 random(1);
  unsigned understood = 0, refused = 0;
  for (int seed = 0; seed < 100'000; ++seed) {
    auto damaged = std::make_unique<std::uint8_t[]>(size);  // exact size: a sanitizer sees a read past the end
    std::copy(program.begin(), program.end(), damaged.get());
    for (unsigned n = 1 + random() % 4; n-- > 0;) damaged[random() % size] = static_cast<std::uint8_t>(random());
    FrameEntry copy = entry;
    copy.own = {reinterpret_cast<std::uintptr_t>(damaged.get()),
                reinterpret_cast<std::uintptr_t>(damaged.get()) + size};
    Row row;
    (find_row(copy, entry.begin + random() % (entry.end - entry.begin), row) ? understood : refused)++;
  }
  EXPECT_GT(understood, 1000u);
  EXPECT_GT(refused, 1000u);
}

TEST(unwind_rule_cache, threads_that_fill_and_forget_at_once_read_right_rules) {
  ASSERT_TRUE(start_rule_cache());
  Table table;
  ASSERT_TRUE(find_table(reinterpret_cast<std::uintptr_t>(&std::qsort), table));
  std::uint64_t wrong[3] = {};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      const std::uintptr_t code = reinterpret_cast<std::uintptr_t>(&std::qsort);
      for (int i = 0; i < 300'000; ++i) {
        const std::uintptr_t pc = code + random() % 0x40000;  // more than the table has room for
        const bool exact = random() & 1;
        Rule cached, fresh;
        const bool covered = find_rule(pc, exact, rule_epoch(), cached);
        if (i % 4 == 0) {
          if (covered != read_rule(pc, exact, fresh) || (covered && std::memcmp(&cached, &fresh, sizeof cached) != 0))
            ++wrong[t];
        }
        if (t == 0 && i % 20'000 == 0) forget_rules();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong[0] + wrong[1] + wrong[2], 0u);
}

}  // namespace
}  // namespace refrain::unwind
