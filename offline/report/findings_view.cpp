// All findings, including those that the first page has no room for, and their records for programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/findings/sentence.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using findings::Finding;
using findings::Iterations;

/// A member of the record, and its name in files.
struct Field {
  Column column;
  Cell (*of)(const Finding& f);
};

Cell if_any(const std::string& text) { return text.empty() ? Cell() : Cell(text); }
Cell if_any(const findings::Path& path) { return path.empty() ? Cell() : Cell(path); }
template <auto Member>
Cell of_iterations(const Finding& f) {
  return f.iterations ? Cell((*f.iterations).*Member) : Cell();
}
/// A member that has a value for single iterations only, not for a range.
template <auto Member>
Cell of_single(const Finding& f) {
  return f.iterations && f.iterations->count > 0 ? Cell((*f.iterations).*Member) : Cell();
}
template <auto Member>
Cell of_cause(const Finding& f) {
  return f.cause.is_known() ? Cell(f.cause.*Member) : Cell();
}

/// docs/reports.md describes the fields.
const std::vector<Field>& fields() {
  using findings::Cause;
  static const std::vector<std::string> iterations{"iterations"}, cause{"cause"};
  static const std::vector<Field> all{
      {{"rule"}, [](const Finding& f) { return Cell(f.rule); }},
      {{"share", Kind::Share}, [](const Finding& f) { return Cell(f.share); }},
      {{"standard_error", Kind::Share}, [](const Finding& f) { return f.error < 0 ? Cell() : Cell(f.error); }},
      {{"text"}, [](const Finding& f) { return Cell(sentence_of(f)); }},
      {{"options"}, [](const Finding& f) { return Cell(fmt::format("{}", fmt::join(options_of(f), " "))); }},
      {{"part_of", Kind::Id},
       [](const Finding& f) { return f.part_of ? Cell(static_cast<std::int64_t>(*f.part_of)) : Cell(); }},
      {{"path", Kind::Path}, [](const Finding& f) { return f.paths.empty() ? Cell() : Cell(f.paths[0]); }},
      {{"further_paths", Kind::Text, InJson},
       [](const Finding& f) {
         std::vector<std::string> paths;
         for (std::size_t i = 1; i < f.paths.size(); ++i) paths.push_back(joined_path(f.paths[i]));
         return if_any(paths);
       }},
      {{"ranks"}, [](const Finding& f) { return if_any(f.ranks.text()); }},
      {{"method"}, [](const Finding& f) { return if_any(f.method); }},
      {{"loop", Kind::Text, InJson, "", iterations}, of_iterations<&Iterations::loop>},
      {{"of", Kind::Count, InJson, "", iterations}, of_iterations<&Iterations::of>},
      {{"first", Kind::Id, InJson, "", iterations}, of_iterations<&Iterations::first>},
      {{"last", Kind::Id, InJson, "", iterations}, of_iterations<&Iterations::last>},
      {{"count", Kind::Count, InJson, "", iterations}, of_single<&Iterations::count>},
      {{"period", Kind::Count, InJson, "", iterations}, of_single<&Iterations::period>},
      {{"numbers", Kind::Id, InJson, "", iterations}, of_single<&Iterations::numbers>},
      {{"path", Kind::Path, InJson, "", cause}, [](const Finding& f) { return if_any(f.cause.path); }},
      {{"ranks", Kind::Text, InJson, "", cause}, [](const Finding& f) { return if_any(f.cause.ranks.text()); }},
      {{"in_turn", Kind::Flag, InJson, "", cause}, of_cause<&Cause::is_in_turn>},
      {{"off_cpu", Kind::Text, InJson, "", cause}, [](const Finding& f) { return if_any(name_of(f.cause.off_cpu)); }},
      {{"many", Kind::Flag, InJson, "", cause}, of_cause<&Cause::is_many>},
      {{"functions", Kind::Text, InJson, "", cause},
       [](const Finding& f) {
         findings::Path functions;
         for (const Cause::Part& part : f.cause.parts) functions.push_back(part.function);
         return if_any(functions);
       }},
      {{"share", Kind::Share, InJson, "", cause}, of_cause<&Cause::share>},
      {{"advice", Kind::Text, InJson}, [](const Finding& f) { return if_any(rule_of(f).advice); }}};
  return all;
}

}  // namespace

Table findings_table(const Document& d) { return table_of("findings", d.found.findings); }

Table table_of(const char* name, const std::vector<Finding>& all) {
  std::vector<Column> columns;
  for (const Field& field : fields()) columns.push_back(field.column);
  for (const char* const figure : findings::figure_names())
    columns.push_back({figure, Kind::Number, InJson, "", {"figures"}});
  return {name, std::move(columns), [&all](const TakeRow& take) {
            for (const Finding& f : all) {
              Row row;
              for (const Field& field : fields()) row.cells.push_back(field.of(f));
              for (std::size_t i = 0; i < findings::figure_names().size(); ++i) {
                const auto figure = static_cast<findings::Figure>(i);
                row.cells.push_back(f.has(figure) ? Cell(f.figure(figure)) : Cell());
              }
              take(row);
            }
          }};
}

/// In text the frame already has the sentences.
std::vector<Table> findings_tables(const Document& d) {
  if (d.request.format != Format::Text) return {findings_table(d)};
  if (!d.found.findings.empty()) return {};
  return {Table{.before = {{"Nothing stands out."}}}};
}

}  // namespace refrain::report
