// All findings, also those for which the first page has no room.
#include "offline/report/views.hpp"

namespace refrain::report {
/// The frame of a text has the sentences.
std::vector<Table> findings_tables(const Document& d) {
  if (d.request.format != Format::Text) return {findings_table(d)};
  if (!d.found.findings.empty()) return {};
  return {Table{.before = {{"Nothing stands out."}}}};
}

}  // namespace refrain::report
