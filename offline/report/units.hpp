#pragma once
/// Texts that fit into columns of a terminal.

#include <string>
#include <string_view>
#include <vector>

#include "offline/analysis/human_units.hpp"

namespace refrain::report {

using analysis::error_in_percent;
using analysis::human_bytes;
using analysis::human_count;
using analysis::human_time;
using analysis::percent;
using analysis::rank_list;

/// Number of terminal columns of a UTF-8 text by wcwidth: two for wide characters (Chinese, Japanese, Korean, emoji),
/// none for combining marks. A byte that is not UTF-8 is one column.
std::size_t display_width(std::string_view text);
/// As much of the beginning as fits into `width` columns.
std::string cut_to(std::string_view text, std::size_t width);
/// As much of the end as fits into `width` columns.
std::string end_of(std::string_view text, std::size_t width);
/// Makes `name` fit: `ellipsis` replaces parameters, then template arguments; then the end is cut.
std::string fit_name(std::string_view name, std::size_t width, std::string_view ellipsis);
/// The beginning of the text, followed by `ellipsis` if it does not fit.
std::string fit_words(std::string_view text, std::size_t width, std::string_view ellipsis);
/// "main > solve > MPI_Wait"; if that does not fit, its end, which says most.
std::string fit_path(const std::string& path, std::size_t width, std::string_view ellipsis);
std::string joined_path(const std::vector<std::string>& names);
/// Joins words and call paths, which alternate. If there is no room, all call paths are shortened alike.
std::string fit_sentence(const std::vector<std::string>& parts, std::size_t width, std::string_view ellipsis);
/// As many items as fit, separated by commas, and at least a part of the first one.
std::string fit_items(const std::vector<std::string>& items, std::size_t width, std::string_view ellipsis);
/// Replaces characters that are not ASCII by question marks, one per column.
std::string as_ascii(std::string_view text);

}  // namespace refrain::report
