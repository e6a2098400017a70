#include "offline/report/request.hpp"

#include <algorithm>

#include "offline/report/views.hpp"

namespace refrain::report {

bool Request::asks(Show view) const { return std::ranges::find(views, view) != views.end(); }

bool Request::needs(unsigned need) const {
  return std::ranges::any_of(views, [&](Show view) { return (row_of(view).needs & need) != 0; });
}

bool Request::is_first_page() const {
  return format == Format::Text && views.empty() && shows_call_tree() && loop.empty() && !thread && metric.empty() &&
         callpath.empty();
}

bool Request::needs_findings() const { return is_first_page() || needs(Findings) || format == Format::Json; }

bool Request::has_callsites() const { return callsites || needs(Callsites); }

bool Request::has_usual_names() const {
  return !has_callsites() && callpath_depth.value_or(0) == 0 && fold.modules.empty() && fold.runtimes;
}

bool Request::shows_call_tree() const {
  const bool has_others = std::ranges::any_of(views, [](Show view) { return !(row_of(view).needs & Waiting); });
  return (format == Format::Json || !has_others) && !is_of_part() && ranks.empty();
}

bool Request::needs_traffic() const { return needs(Traffic) && ranks.empty(); }

bool Request::needs_search() const { return shows_call_tree() || needs_traffic() || needs(Findings); }

bool Request::chosen(std::int32_t rank) const { return ranks.empty() || std::ranges::binary_search(ranks, rank); }

bool Request::chosen(std::int32_t rank, std::int32_t thread_number) const {
  if (!chosen(rank) || (thread && thread_number != *thread)) return false;
  const bool has_list =
      std::ranges::find(threads_of_ranks, rank, [](const auto& of) { return of.first; }) != threads_of_ranks.end();
  return !has_list || std::ranges::binary_search(threads_of_ranks, std::pair(rank, thread_number));
}

}  // namespace refrain::report
