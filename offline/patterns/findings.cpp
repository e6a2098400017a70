#include "offline/patterns/findings.hpp"

#include <algorithm>

namespace refrain::patterns {

Findings::Cell& Findings::cell(OfLocation& of, std::uint32_t path) {
  // The first entry is for time without a known path.
  const std::size_t place = path == trace::no_path ? 0 : std::size_t{path} + 1;
  if (place >= of.cell_of_path.size()) of.cell_of_path.resize(place + 1 + place / 2);
  std::uint32_t& at = of.cell_of_path[place];
  if (at == 0) {
    of.cells.push_back({path, 0, 0, 0, {}});
    at = static_cast<std::uint32_t>(of.cells.size());
  }
  return of.cells[at - 1];
}

void Findings::add(OfLocation& of, Cell& to, Quantity quantity, std::uint32_t span, std::int64_t ns) {
  auto at = to.values.begin();
  while (at != to.values.end() && at->quantity != quantity) ++at;
  if (at == to.values.end()) at = to.values.insert(at, {quantity, 0, 0, trace::no_path});
  at->ns += ns;
  if (!by_span_ || (!only_.empty() && !std::ranges::binary_search(only_, quantity))) return;
  const auto place = static_cast<std::uint32_t>(&to - of.cells.data());
  if (span != of.span) {
    if (!wanted_ || (span < of.spans.size() && wanted_(of.spans[span]))) add_row(of, {span, place, quantity, ns});
    return;
  }
  if (at->span != span) {
    at->span = span;
    at->span_ns = 0;
    of.touched.emplace_back(place, static_cast<std::uint16_t>(at - to.values.begin()));
  }
  at->span_ns += ns;
}

void Findings::add(Quantity quantity, std::uint32_t location, std::uint32_t path, std::uint32_t span, std::int64_t ns) {
  if (ns == 0) return;
  OfLocation& of = of_[location];
  add(of, cell(of, path), quantity, span, ns);
}

void Findings::add_call(Quantity quantity, std::uint32_t location, std::uint32_t path, std::uint32_t span,
                        std::int64_t ns, std::uint64_t messages, std::uint64_t bytes) {
  OfLocation& of = of_[location];
  Cell& to = cell(of, path);
  ++to.visits;
  to.messages += messages;
  to.bytes += bytes;
  if (ns != 0) add(of, to, quantity, span, ns);
  if (by_span_) add(of, to, number_of_calls, span, 1);
}

void Findings::add_row(OfLocation& of, const Row& row) {
  if (++rows_ > most_rows_) throw TooManyRows();
  of.rows.push_back(row);
}

void Findings::keep_span(OfLocation& of) {
  for (const auto& [place, value] : of.touched) {
    const Value& from = of.cells[place].values[value];
    add_row(of, {from.span, place, from.quantity, from.span_ns});
  }
  of.touched.clear();
}

void Findings::end_span(std::uint32_t location, const SpanEnd& end) {
  OfLocation& of = of_[location];
  ++of.span;
  if (!by_span_) return;
  if (wanted_ && !wanted_(end)) of.touched.clear();
  else keep_span(of);
  of.spans.push_back(end);
}

void Findings::finish() {
  for (OfLocation& of : of_) {
    keep_span(of);
    // Rows that became known later are at the end: merge into one row for each span, call path and quantity.
    const auto key = [](const Row& row) { return std::tuple(row.span, row.cell, row.quantity); };
    std::ranges::sort(of.rows, {}, key);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < of.rows.size(); ++i)
      if (kept > 0 && key(of.rows[kept - 1]) == key(of.rows[i])) of.rows[kept - 1].ns += of.rows[i].ns;
      else of.rows[kept++] = of.rows[i];
    of.rows.resize(kept);
    // Drop values that were added and subtracted again.
    std::erase_if(of.rows, [](const Row& row) { return row.ns == 0; });
  }
}

}  // namespace refrain::patterns
