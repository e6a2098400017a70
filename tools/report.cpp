#include "tools/report.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <unistd.h>

#include "analysis/iteration_metrics.hpp"
#include "archive/reader.hpp"
#include "report/report.hpp"
#include "tools/command_line.hpp"

namespace refrain::tools {
namespace {

enum ExitCode { done = 0, wrong_usage = 1, unreadable = 2 };

struct Request {
  std::string experiment, output = "-";
  std::string format = "text";
  std::vector<std::string> ranks;
  report::Options options;
};

/// "3" or "2-5" into `ranks`.
void add_ranks(const std::string& text, std::vector<std::int32_t>& ranks) {
  constexpr std::int32_t longest_range = 10'000'000;
  std::int32_t first = 0, last = 0;
  const char* end = text.data() + text.size();
  auto at = std::from_chars(text.data(), end, first);
  last = first;
  if (at.ec == std::errc() && at.ptr != end && *at.ptr == '-') at = std::from_chars(at.ptr + 1, end, last);
  if (at.ec != std::errc() || at.ptr != end || first < 0 || last < first || last - first > longest_range)
    throw report::UsageError("--rank " + text + ": a rank is 0 or more, as in --rank 3 or --rank 0,4-7");
  for (std::int32_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
}

/// A line on the terminal that tells how far the symbols are, from the second second on.
class Progress {
 public:
  void operator()(std::size_t count, std::size_t all) {
    const auto now = Clock::now();
    if (!interactive_ || now - begin_ < std::chrono::seconds(1)) return;
    if (count < all && now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    fmt::print(stderr, "\r{}", count < all ? fmt::format("resolving symbols: {} of {}", count, all) : "\033[K");
    std::fflush(stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const bool interactive_ = isatty(STDERR_FILENO) == 1;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_{};
};

bool write_all(const std::string& text, std::FILE* out) {
  return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
}

int complain(ExitCode code, const std::string& what) {
  fmt::print(stderr, "refrain report: {}\n", what);
  return code;
}

int run(Request request) {
  try {
    static const std::map<std::string, report::Format> formats = {
        {"text", report::Format::Text}, {"json", report::Format::Json}, {"csv", report::Format::Csv}};
    request.options.format = formats.at(request.format);
    for (const std::string& text : request.ranks) add_ranks(text, request.options.ranks);
    Progress progress;
    request.options.progress = [&](std::size_t count, std::size_t all) { progress(count, all); };

    const archive::Experiment experiment = archive::read_experiment(request.experiment);
    analysis::Symbolizer symbolizer;
    const bool to_file = request.output != "-";
    // The file is made last: a request that fails leaves no empty one behind.
    const report::Terminal terminal = to_file ? report::Terminal{0, true, false} : report::detect_terminal(stdout);
    const std::string text = render(experiment, request.options, terminal, symbolizer);
    std::FILE* out = to_file ? std::fopen(request.output.c_str(), "w") : stdout;
    if (out == nullptr) return complain(wrong_usage, request.output + ": " + std::strerror(errno));
    bool written = write_all(text, out);
    if (to_file) written = std::fclose(out) == 0 && written;
    if (!written)
      return complain(wrong_usage,
                      (to_file ? request.output : std::string("standard output")) + ": " + std::strerror(errno));
    return done;
  } catch (const archive::ReadError& error) {
    return complain(unreadable, error.what());
  } catch (const std::exception& error) {
    return complain(wrong_usage, error.what());
  }
}

/// The largest number fits the names of iterations and clusters.
CLI::Option* counted_from_0(CLI::Option* option, const char* type) {
  return option->type_name(type)->check([](const std::string& text) {
    const bool number = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
    return number ? std::string() : text + ": a number, counted from 0";
  });
}

CLI::Option* within(CLI::Option* option, double least, double most, const char* type) {
  return option->type_name(type)->check([=](const std::string& text) {
    double value = least - 1;
    const char* end = text.data() + text.size();
    const auto at = std::from_chars(text.data(), end, value);
    const bool good = at.ec == std::errc() && at.ptr == end && value >= least && value <= most;
    return good ? std::string() : fmt::format("{} is not a number from {} to {}", text, least, most);
  });
}

/// What is shown of marked loops.
void add_loop_options(CLI::App& command, report::Options& options) {
  CLI::Option* iterations =
      command.add_flag("--iterations", options.iterations, "Every iteration of the marked loops, as a graph and a map");
  const std::vector<std::string> metrics = analysis::iteration_metric_names();
  likely_one_of(
      command.add_option("--metric", options.metric,
                         fmt::format("With --iterations: {}, or one of REFRAIN_METRICS", fmt::join(metrics, ", "))),
      metrics, "NAME")
      ->needs(iterations)
      ->capture_default_str();
  command
      .add_option("--callpath", options.callpath,
                  "With --iterations: only below these functions, as in main/solve/MPI_Allreduce; reconstructed")
      ->type_name("NAMES")
      ->needs(iterations);
  command.add_option("--loop", options.loop, "Only the marked loop of this name")->type_name("NAME");
  CLI::Option* clusters = command.add_flag("--clusters", options.clusters, "The clusters of iterations, rank by rank");
  CLI::Option* iteration = counted_from_0(
      command.add_option("--iteration", options.iteration, "The call tree of this iteration, counted from 0"), "N");
  CLI::Option* cluster = counted_from_0(
      command.add_option("--cluster", options.cluster, "The call tree of this cluster of one rank (see --rank)"), "K");
  for (CLI::Option* one : {iteration, cluster}) one->excludes(iterations)->excludes(clusters);
  iteration->excludes(cluster);
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("report", "Show where the time of an experiment went");
  command->add_option("experiment", request->experiment, "Experiment directory")->type_name("EXPERIMENT")->required();
  one_of(command->add_option("--format", request->format, "How to print"), {"text", "json", "csv"})
      ->capture_default_str();
  command->add_flag("--flat", request->options.flat, "By function instead of by call path");
  add_loop_options(*command, request->options);
  CLI::Option* windows =
      command->add_flag("--windows", request->options.windows, "One-sided operations by window, origin and target");
  for (const char* other : {"--flat", "--iterations", "--clusters", "--iteration", "--cluster"})
    windows->excludes(command->get_option(other));
  command->add_flag("--callsites", request->options.callsites,
                    "Keep the call sites of one function apart, with module, file and line");
  within(command->add_option("--callpath-depth", request->options.callpath_depth,
                             "Frames to keep of each call path; MPI functions stay below the last one"),
         1, 1'000'000, "N");
  command->add_option("--rank", request->ranks, "Only these ranks, as in 0,4-7; may be repeated")
      ->type_name("LIST")
      ->delimiter(',');
  within(command->add_option("--min-share", request->options.min_share,
                             "Percent of the wall time below which the text folds a call path"),
         0, 100, "PERCENT")
      ->capture_default_str();
  command->add_option("-o,--output", request->output, "File to write instead of standard output")->type_name("FILE");
  command->footer(
      "Values are sums over all locations (threads of all ranks).\n"
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read.");
  command->callback([request, &exit_code] { exit_code = run(*request); });
}

}  // namespace refrain::tools
