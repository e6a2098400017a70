// All findings, also those for which the first page has no room.
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

/// The frame of a text has the sentences.
std::vector<Table> findings_tables(const Document& d) {
  if (d.request.format != Format::Text) return {findings_table(d)};
  if (!d.found.findings.empty()) return {};
  return {Table{.before = {{"Nothing stands out."}}}};
}

}  // namespace

const View findings_view{.option = "--findings",
                         .subject = "",
                         .help = "Everything that stands out, also what the first page has no room for",
                         .knows = {},
                         .tables = findings_tables,
                         .needs = Findings | AllRanks};

}  // namespace refrain::report
