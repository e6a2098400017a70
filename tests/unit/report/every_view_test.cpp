// Every view of every golden experiment, as text in every width and in every format: nothing is wider than asked for,
// and what programs read is well-formed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "offline/report/difference.hpp"
#include "offline/report/json_tables.hpp"
#include "offline/report/report.hpp"
#include "offline/report/terminal.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::report {
namespace {

namespace fs = std::filesystem;

struct Asked {
  const char* name;
  std::function<void(Request&)> set;
};

const std::vector<Asked>& views_asked_for() {
  static const std::vector<Asked> all{
      {"first page", [](Request&) {}},
      {"--flat", [](Request& o) { o.views = {Show::Functions}; }},
      {"--callsites", [](Request& o) { o.callsites = true; }},
      {"--min-share 0", [](Request& o) { o.min_share = 0; }},
      {"--iterations", [](Request& o) { o.views = {Show::Iterations}; }},
      {"--iterations --metric mpi", [](Request& o) { o.views = {Show::Iterations}, o.metric = "mpi"; }},
      {"--clusters", [](Request& o) { o.views = {Show::Clusters}; }},
      {"--iterations --clusters",
       [](Request& o) {
         o.views = {Show::Iterations, Show::Clusters};
       }},
      {"--iteration 0", [](Request& o) { o.iteration = 0; }},
      {"--cluster 0 --rank 0", [](Request& o) { o.cluster = 0, o.ranks = {0}; }},
      {"--windows", [](Request& o) { o.views = {Show::Windows}; }},
      {"--events", [](Request& o) { o.views = {Show::Events}; }},
      {"--efficiency", [](Request& o) { o.views = {Show::Efficiency}; }},
      {"--efficiency --region main", [](Request& o) { o.views = {Show::Efficiency}, o.region = "main"; }},
      {"--waits", [](Request& o) { o.views = {Show::Waits}; }},
      {"--findings", [](Request& o) { o.views = {Show::Findings}; }},
      {"--locations", [](Request& o) { o.views = {Show::Locations}; }},
      {"--locations --metric mpi", [](Request& o) { o.views = {Show::Locations}, o.metric = "mpi"; }},
      {"--mpi", [](Request& o) { o.views = {Show::Mpi}; }},
      {"--modules", [](Request& o) { o.views = {Show::Modules}; }},
      {"--callers MPI_Send", [](Request& o) { o.views = {Show::Callers}, o.subject = "MPI_Send"; }},
      {"--source solver.c", [](Request& o) { o.views = {Show::Source}, o.subject = "solver.c"; }},
      {"--sizes", [](Request& o) { o.views = {Show::Sizes}; }},
      {"--communicators", [](Request& o) { o.views = {Show::Communicators}; }},
      {"--nodes", [](Request& o) { o.views = {Show::Nodes}; }},
      {"--mpi --columns",
       [](Request& o) {
         o.views = {Show::Mpi}, o.columns = {"call", "path", "calls", "site"};
       }},
      {"--modules --columns",
       [](Request& o) {
         o.views = {Show::Modules}, o.columns = {"module", "share"};
       }},
      {"--flat --sort", [](Request& o) { o.views = {Show::Functions}, o.sort = "inclusive_s"; }},
      {"--rank 0.0",
       [](Request& o) {
         o.ranks = {0}, o.threads_of_ranks = {{0, 0}};
       }},
      {"--thread 0", [](Request& o) { o.thread = 0; }}};
  return all;
}

/// The newest last: 1.10 is newer than 1.9.
std::vector<fs::path> golden_experiments() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(GOLDEN)) all.push_back(entry.path());
  std::ranges::sort(all, {}, [](const fs::path& of) { return std::pair(of.native().size(), of); });
  return all;
}

Request request_of(const Asked& asked) {
  Request request;
  asked.set(request);
  return request;
}

/// As a search would have left them.
Found some_findings(const UsualProfile*) {
  Found found;
  found.findings = {
      {.rule = "late_rank",
       .share = 0.123,
       .error = 0.01,
       .ranks = findings::Ranks({3, 4, 5, 6, 17}),
       .cause = {.path = {"main", "a_function_with_quite_a_long_name", "another_one_as_long_as_names_may_become"},
                 .is_user = true}},
      {.rule = "step_of_iterations", .share = 0.1, .iterations = findings::Iterations{.loop = "a 'loop'"}},
      {.rule = "unseen", .names = {"(no sample)"}}};
  found.findings[1].part_of = 0;
  found.findings[1].iterations->is_one_of_several = true;
  return found;
}

/// Nothing: the experiment has no such thing.
std::optional<std::string> rendered(const std::shared_ptr<const experiment::Experiment>& experiment,
                                    const Request& request, const Terminal& terminal) {
  analysis::Symbolizer symbolizer;
  std::string out;
  try {
    const Source source{experiment, symbolizer, {}, some_findings};
    render(source, request, terminal, [&](std::string_view text) { out += text; });
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
      const Request request = request_of(asked);
      for (int width = narrowest; width <= widest; width += directory == newest ? 1 : 9) {
        const Terminal terminal{width, width % 2 == 0, width % 3 == 0};
        const auto text = rendered(experiment, request, terminal);
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
    render_difference({compared_run(before, {}, {}, symbolizer)}, {compared_run(now, {}, {}, symbolizer), found}, {},
                      terminal, [&](std::string_view text) { out += text; });
    ASSERT_EQ("", what_is_wrong(out, terminal)) << width;
  }
}

TEST(EveryView, what_a_run_does_not_tell_apart_is_no_change) {
  analysis::Symbolizer symbolizer;
  const auto open = [&](const char* name) {
    return compared_run(experiment::Experiment::open((fs::path(GOLDEN) / name).string()), {}, {}, symbolizer);
  };
  const std::vector<findings::Finding> whole{{.rule = "shared_core", .share = 0.3, .error = 0.01}},
      part{{.rule = "waiting_for_core", .share = 0.2}};
  std::string out;
  render_difference({open("profile-1.9"), whole}, {open("profile-1.10"), part}, {}, {},
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
    Request request = request_of(asked);
    request.format = format_of("json");
    if (const auto text = rendered(experiment, request, {})) {
      EXPECT_TRUE(nlohmann::json::accept(*text)) << asked.name;
    }
    request.format = format_of("text");
    const Terminal terminal{80, false, false};
    if (const auto text = rendered(experiment, request, terminal)) {
      EXPECT_EQ("", what_is_wrong(*text, terminal)) << asked.name;
    }
  }
  Request request;
  request.format = format_of("json");
  const auto document = nlohmann::json::parse(*rendered(experiment, request, {}));
  EXPECT_FALSE(document["totals"].contains("blocked_s")) << "unknown is not 0";
  EXPECT_TRUE(document["totals"].contains("mpi_off_cpu_s"));
  for (const auto& of : document["locations"])
    EXPECT_NE(of["rank"] == 1 && of["thread"] == 1, of.contains("blocked_s")) << of;
  request.views = {Show::Iterations};
  request.metric = "blocked";
  request.ranks = {1};
  EXPECT_NE(rendered(experiment, request, {})->find("null"), std::string::npos);
  request.format = format_of("text");
  EXPECT_NE(rendered(experiment, request, {})->find("run_delay_unknown"), std::string::npos);
}

/// Also of those with helper threads, whose idle time is left out of the tree.
TEST(EveryView, modules_share_the_time_of_the_call_tree) {
  for (const fs::path& directory : golden_experiments()) {
    const auto experiment = experiment::Experiment::open(directory.string());
    Request request;
    request.views = {Show::Modules};
    request.format = format_of("json");
    const auto document = nlohmann::json::parse(*rendered(experiment, request, {}));
    double share = 0;
    for (const auto& module : document["modules"]) share += module["share"].get<double>();
    EXPECT_NEAR(1, share, 1e-6) << directory;
  }
}

TEST(EveryView, is_well_formed_for_programs) {
  for (const fs::path& directory : golden_experiments()) {
    const auto experiment = experiment::Experiment::open(directory.string());
    for (const Asked& asked : views_asked_for()) {
      Request request = request_of(asked);
      request.min_share.reset();
      for (const std::string& format : format_names()) {
        if (format == "text") continue;
        request.format = format_of(format);
        const auto text = rendered(experiment, request, {});
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

/// The members that docs/report-format.md lists, and their types.
std::map<std::string, std::string> described_members() {
  std::map<std::string, std::string> types;
  std::ifstream page(REPORT_FORMAT);
  const std::regex row(R"(\| `([^`]+)` \| (\w+) \|.*)");
  std::smatch parts;
  for (std::string line; std::getline(page, line);)
    if (std::regex_match(line, parts, row)) types[parts[1]] = parts[2];
  return types;
}

/// `pattern` may have a * for any text.
bool fits(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  for (std::size_t at = star; at <= text.size(); ++at)
    if (fits(pattern.substr(star + 1), text.substr(at))) return true;
  return false;
}

bool has_type(const nlohmann::json& value, const std::string& type) {
  const auto all = [&](const auto& is_good) { return value.is_array() && std::ranges::all_of(value, is_good); };
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number() || value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "strings") return all([](const auto& of) { return of.is_string(); });
  if (type == "integers") return all([](const auto& of) { return of.is_number_integer(); });
  return type == "series" && all([](const auto& of) { return of.is_number() || of.is_null(); });
}

class DescribedMembers {
 public:
  /// Members that the page does not have, or has with another type.
  const std::set<std::string>& wrong() const { return wrong_; }

  void check(const nlohmann::json& value, const std::string& name) {
    const bool is_list = value.is_array() && !value.empty() && value[0].is_object();
    if (is_list)
      for (const auto& element : value) check_object(element, name + "[].");
    else if (value.is_object()) check_object(value, name.empty() ? name : name + ".");
    else if (!is_described(name, value)) wrong_.insert(name);
  }

 private:
  void check_object(const nlohmann::json& object, const std::string& before) {
    for (const auto& [name, value] : object.items()) check(value, before + name);
  }
  bool is_described(const std::string& name, const nlohmann::json& value) const {
    if (const auto at = types_.find(name); at != types_.end()) return has_type(value, at->second);
    return std::ranges::any_of(types_, [&](const auto& of) {
      const bool is_empty_list = value.is_array() && value.empty() && of.first.starts_with(name + "[].");
      return is_empty_list || (fits(of.first, name) && has_type(value, of.second));
    });
  }

  const std::map<std::string, std::string> types_ = described_members();
  std::set<std::string> wrong_;
};

TEST(EveryView, documents_have_the_members_that_are_described) {
  DescribedMembers members;
  std::size_t documents = 0;
  for (const fs::path& directory : golden_experiments()) {
    const auto experiment = experiment::Experiment::open(directory.string());
    for (const Asked& asked : views_asked_for()) {
      Request request = request_of(asked);
      request.min_share.reset();
      request.format = Format::Json;
      const auto text = rendered(experiment, request, {});
      if (!text) continue;
      const auto document = nlohmann::json::parse(*text);
      EXPECT_EQ(document.value("schema", 0), schema_version);
      members.check(document, "");
      ++documents;
    }
  }
  EXPECT_EQ(members.wrong(), std::set<std::string>()) << "see docs/report-format.md";
  EXPECT_GE(documents, 100u);
  std::ifstream page(REPORT_FORMAT);
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  EXPECT_NE(text.find("**" + std::to_string(schema_version) + "**"), text.npos) << "the page is of another version";
}

}  // namespace
}  // namespace refrain::report
