// Every view of every golden experiment, as text in every width and in every format: nothing is wider than asked for,
// and what programs read is well-formed.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "offline/report/difference.hpp"
#include "offline/report/report.hpp"
#include "offline/report/terminal.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

namespace fs = std::filesystem;

struct Asked {
  const char* name;
  std::function<void(Options&)> set;
};

const std::vector<Asked>& views_asked_for() {
  static const std::vector<Asked> all{
      {"first page", [](Options&) {}},
      {"--flat", [](Options& o) { o.flat = true; }},
      {"--callsites", [](Options& o) { o.callsites = true; }},
      {"--min-share 0", [](Options& o) { o.min_share = 0; }},
      {"--iterations", [](Options& o) { o.iterations = true; }},
      {"--iterations --metric mpi", [](Options& o) { o.iterations = true, o.metric = "mpi"; }},
      {"--clusters", [](Options& o) { o.clusters = true; }},
      {"--iterations --clusters", [](Options& o) { o.iterations = o.clusters = true; }},
      {"--iteration 0", [](Options& o) { o.iteration = 0; }},
      {"--cluster 0 --rank 0", [](Options& o) { o.cluster = 0, o.ranks = {0}; }},
      {"--windows", [](Options& o) { o.windows = true; }},
      {"--events", [](Options& o) { o.events = true; }},
      {"--waits", [](Options& o) { o.waits = true; }},
      {"--findings", [](Options& o) { o.all_findings = true; }},
      {"--locations", [](Options& o) { o.locations = true; }},
      {"--locations --metric mpi", [](Options& o) { o.locations = true, o.metric = "mpi"; }},
      {"--mpi", [](Options& o) { o.mpi = true; }},
      {"--modules", [](Options& o) { o.modules = true; }},
      {"--callers MPI_Send", [](Options& o) { o.callers = "MPI_Send"; }},
      {"--source solver.c", [](Options& o) { o.source = "solver.c"; }},
      {"--sizes", [](Options& o) { o.sizes = true; }},
      {"--communicators", [](Options& o) { o.communicators = true; }},
      {"--nodes", [](Options& o) { o.nodes = true; }},
      {"--mpi --columns",
       [](Options& o) {
         o.mpi = true, o.columns = {"call", "path", "calls", "site"};
       }},
      {"--modules --columns",
       [](Options& o) {
         o.modules = true, o.columns = {"module", "share"};
       }},
      {"--flat --sort", [](Options& o) { o.flat = true, o.sort = "inclusive_s"; }},
      {"--rank 0.0",
       [](Options& o) {
         o.ranks = {0}, o.threads_of_ranks = {{0, 0}};
       }},
      {"--thread 0", [](Options& o) { o.thread = 0; }}};
  return all;
}

/// The newest last: 1.10 is newer than 1.9.
std::vector<fs::path> golden_experiments() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(GOLDEN)) all.push_back(entry.path());
  std::ranges::sort(all, {}, [](const fs::path& of) { return std::pair(of.native().size(), of); });
  return all;
}

Options options_of(const Asked& asked) {
  Options options;
  asked.set(options);
  // As a search would have left them.
  options.findings = {
      {.rule = "late_rank",
       .share = 0.123,
       .error = 0.01,
       .ranks = findings::Ranks({3, 4, 5, 6, 17}),
       .cause = {.path = {"main", "a_function_with_quite_a_long_name", "another_one_as_long_as_names_may_become"},
                 .is_user = true}},
      {.rule = "step_of_iterations", .share = 0.1, .iterations = findings::Iterations{.loop = "a 'loop'"}},
      {.rule = "unseen", .names = {"(no sample)"}}};
  options.findings[1].part_of = 0;
  options.findings[1].iterations->is_one_of_several = true;
  return options;
}

/// Nothing: the experiment has no such thing.
std::optional<std::string> rendered(const std::shared_ptr<const experiment::Experiment>& experiment,
                                    const Options& options, const Terminal& terminal) {
  analysis::Symbolizer symbolizer;
  std::string out;
  try {
    render(experiment, options, terminal, symbolizer, [&](std::string_view text) { out += text; });
  } catch (const UsageError& error) {
    EXPECT_GT(std::string(error.what()).size(), 10u);
    EXPECT_EQ(std::string::npos, std::string(error.what()).find('\n')) << error.what();
    return std::nullopt;
  }
  return out;
}

std::string without_colour(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') i = text.find('m', i);
    else plain += text[i];
  }
  return plain;
}

std::string first_wider_line(const std::string& text, int width) {
  std::istringstream lines(without_colour(text));
  for (std::string line; std::getline(lines, line);)
    if (display_width(line) > static_cast<std::size_t>(width)) return line;
  return {};
}

std::string what_is_wrong(const std::string& text, const Terminal& terminal) {
  if (text.empty()) return "it is empty";
  if (std::string line = first_wider_line(text, terminal.width); !line.empty()) return line;
  if (!terminal.utf8 && std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return "it is not ASCII";
  return !terminal.colour && text.find('\033') != std::string::npos ? "it has colours" : "";
}

TEST(EveryView, is_as_wide_as_asked_for_at_most) {
  constexpr int narrowest = 80, widest = 250;
  const auto directories = golden_experiments();
  const fs::path& newest = directories.back();  // has all that the others have: it is shown in all widths
  for (const fs::path& directory : directories) {
    const auto experiment = experiment::Experiment::open(directory.string());
    std::size_t shown = 0;
    for (const Asked& asked : views_asked_for()) {
      const Options options = options_of(asked);
      for (int width = narrowest; width <= widest; width += directory == newest ? 1 : 9) {
        const Terminal terminal{width, width % 2 == 0, width % 3 == 0};
        const auto text = rendered(experiment, options, terminal);
        if (!text) break;
        shown += width == narrowest;
        const std::string wrong = what_is_wrong(*text, terminal);
        EXPECT_EQ("", wrong) << directory << " " << asked.name << " in " << width;
        if (!wrong.empty()) break;
      }
    }
    EXPECT_GE(shown, 15u) << directory;
  }
}

/// The number of fields of each row; quotes hold commas, and ends of lines, together.
std::map<std::size_t, std::size_t> fields_of_csv(const std::string& text) {
  std::map<std::size_t, std::size_t> rows_of;
  std::size_t fields = 1;
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted) ++fields;
    else if (c == '\n' && !is_quoted) {
      ++rows_of[fields];
      fields = 1;
    }
  }
  return rows_of;
}

TEST(EveryView, differences_are_as_wide_as_asked_for_at_most) {
  const auto directories = golden_experiments();
  const auto before = experiment::Experiment::open(directories.front().string()),
             now = experiment::Experiment::open(directories.back().string());
  const std::vector<findings::Finding> found{
      {.rule = "late_rank",
       .share = 0.2,
       .ranks = findings::Ranks({1}),
       .cause = {.path = {"main", std::string(300, 'f'), "g"}, .is_user = true}}};
  for (int width = 80; width <= 250; ++width) {
    const Terminal terminal{width, width % 2 == 0, width % 3 == 0};
    analysis::Symbolizer symbolizer;
    std::string out;
    render_difference({before, {}}, {now, found}, {}, terminal, symbolizer,
                      [&](std::string_view text) { out += text; });
    ASSERT_EQ("", what_is_wrong(out, terminal)) << width;
  }
}

TEST(EveryView, what_a_run_does_not_tell_apart_is_no_change) {
  const auto open = [](const char* name) { return experiment::Experiment::open((fs::path(GOLDEN) / name).string()); };
  const std::vector<findings::Finding> whole{{.rule = "shared_core", .share = 0.3, .error = 0.01}},
      part{{.rule = "waiting_for_core", .share = 0.2}};
  analysis::Symbolizer symbolizer;
  std::string out;
  render_difference({open("profile-1.9"), whole}, {open("profile-1.10"), part}, {}, {}, symbolizer,
                    [&](std::string_view text) { out += text; });
  EXPECT_NE(out.find("  ?    20.0 %  user code waited for a core"), out.npos) << out;
  EXPECT_NE(out.find("30.0 %         ?  in user code the program was not on a CPU"), out.npos) << out;
  EXPECT_NE(out.find("?: one of the runs does not tell waiting for a core from being blocked."), out.npos) << out;
}

/// One thread's time off the CPU is not told apart: sums are not known then, and the others' times are.
TEST(EveryView, of_a_run_that_is_told_apart_in_part) {
  experiment::WholeExperiment whole = experiment::read_experiment(GOLDEN "/profile-1.10");
  experiment::Location& untold = whole.profile.ranks[1].locations[1];
  untold.losses[static_cast<std::size_t>(format::Loss::RunDelayUnknown)] = 1;
  const auto experiment = experiment::Experiment::of(std::move(whole));
  for (const Asked& asked : views_asked_for()) {
    Options options = options_of(asked);
    options.set_format("json");
    if (const auto text = rendered(experiment, options, {})) {
      EXPECT_TRUE(nlohmann::json::accept(*text)) << asked.name;
    }
    options.set_format("text");
    const Terminal terminal{80, false, false};
    if (const auto text = rendered(experiment, options, terminal)) {
      EXPECT_EQ("", what_is_wrong(*text, terminal)) << asked.name;
    }
  }
  Options options;
  options.set_format("json");
  const auto document = nlohmann::json::parse(*rendered(experiment, options, {}));
  EXPECT_FALSE(document["totals"].contains("blocked_s")) << "unknown is not 0";
  EXPECT_TRUE(document["totals"].contains("mpi_off_cpu_s"));
  for (const auto& of : document["locations"])
    EXPECT_NE(of["rank"] == 1 && of["thread"] == 1, of.contains("blocked_s")) << of;
  options.iterations = true;
  options.metric = "blocked";
  options.ranks = {1};
  EXPECT_NE(rendered(experiment, options, {})->find("null"), std::string::npos);
  options.set_format("text");
  EXPECT_NE(rendered(experiment, options, {})->find("run_delay_unknown"), std::string::npos);
}

TEST(EveryView, is_well_formed_for_programs) {
  for (const fs::path& directory : golden_experiments()) {
    const auto experiment = experiment::Experiment::open(directory.string());
    for (const Asked& asked : views_asked_for()) {
      Options options = options_of(asked);
      options.min_share.reset();
      for (const std::string& format : format_names()) {
        if (format == "text") continue;
        options.set_format(format);
        const auto text = rendered(experiment, options, {});
        if (!text) continue;
        const std::string of = directory.string() + " " + asked.name + " as " + format;
        if (format == "json") {
          EXPECT_TRUE(nlohmann::json::accept(*text)) << of;
        } else if (format == "csv") {
          EXPECT_LE(fields_of_csv(*text).size(), 1u) << of << "\n" << *text;
        } else {
          EXPECT_FALSE(text->empty()) << of;
        }
      }
    }
  }
}

}  // namespace
}  // namespace refrain::report
