// Damaged files, the same ones every time: one view of each is printed, with what is left of the file.

#include <gtest/gtest.h>

#include "offline/experiment/experiment.hpp"
#include "offline/findings/facts.hpp"
#include "offline/report/difference.hpp"
#include "offline/report/report.hpp"
#include "offline/report/several.hpp"
#include "offline/report/views.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"
#include "tests/fuzz/archive/mutations.hpp"

namespace refrain::testing {
namespace {

/// Prints one view in one format. Damage is named; what is asked for may be gone with it.
void print_something(const std::string& bytes, Random& random) {
  static analysis::Symbolizer symbolizer;  // modules that are not there are looked for once
  report::Request request;
  const auto formats = report::format_names();
  request.format = report::format_of(formats[random() % formats.size()]);
  switch (random() % 19) {
    case 0: request.views = {report::Show::Functions}; break;
    case 1: request.views = {report::Show::Iterations}; break;
    case 2: request.views = {report::Show::Clusters}; break;
    case 3: request.views = {report::Show::Windows}; break;
    case 4: request.views = {report::Show::Locations}; break;
    case 5: request.iteration = static_cast<std::int64_t>(random() % 150), request.loop = "timestep"; break;
    case 6: request.cluster = static_cast<std::int32_t>(random() % 5), request.loop = "timestep"; break;
    case 7: request.views = {report::Show::Iterations}, request.callpath = "MPI_Send", request.metric = "wall"; break;
    case 8: request.callsites = true; break;
    case 9: request.views = {report::Show::Mpi}; break;
    case 10: request.views = {report::Show::Modules}; break;
    case 11: request.views = {report::Show::Sizes}; break;
    case 12: request.views = {report::Show::Communicators}; break;
    case 13: request.views = {report::Show::Nodes}; break;
    case 14: request.views = {report::Show::Callers}, request.subject = "MPI_Send"; break;
    case 15: request.views = {report::Show::Source}, request.subject = "solver.c"; break;
    case 16: request.views = {report::Show::Functions}, request.sort = "function", request.limit = 3; break;
    case 17: request.views = {report::Show::Efficiency}; break;
    default: break;
  }
  if (random() % 4 == 0) request.ranks = {1};
  std::size_t printed = 0;
  try {
    const auto experiment = experiment::Experiment::of_file("f", std::as_bytes(std::span(bytes)));
    render({experiment, symbolizer}, request, {80, false, false},
           [&](std::string_view text) { printed += text.size(); });
    ASSERT_GT(printed, 0u);
    analysis::MinimumWaits minima(experiment->definitions());
    const analysis::CallTree tree = analysis::build_call_tree(*experiment, symbolizer, {});
    findings::Facts facts{*experiment, tree, minima, {}};
    find(facts);
    if (random() % 4 == 0) {
      const report::RunToCompare run{report::compared_run(experiment, {}, {}, symbolizer)};
      report::render_difference(run, run, {}, {80, false, false}, [](std::string_view) {});
      report::render_several({run, run, run}, {}, {80, false, false}, [](std::string_view) {});
    }
  } catch (const experiment::ReadError&) {
  } catch (const report::UsageError&) {
  }
}

void run(const std::string& base, std::uint64_t seed, int rounds, bool sealed) {
  limit_memory();
  Random random(seed);
  for (int i = 0; i < rounds; ++i) {
    std::string bytes = mutate(base, random);
    if (sealed) reseal(bytes);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", round " << i);
    ASSERT_NO_THROW(print_something(bytes, random));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Views, of_files_as_they_are) { run(sample_file(3), 5, 5'000, false); }
TEST(Views, behind_the_checksums) { run(sample_file(2), 6, 5'000, true); }
TEST(Views, behind_the_compression) { run(unpacked(sample_file(2)), 7, 15'000, true); }

}  // namespace
}  // namespace refrain::testing
