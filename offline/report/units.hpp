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

/// Number of terminal columns of a UTF-8 text: code points, which is right for what programs are written in.
std::size_t display_width(std::string_view text);
/// The first `width` columns.
std::string cut_to(std::string_view text, std::size_t width);
/// The last `width` columns.
std::string end_of(std::string_view text, std::size_t width);
/// Makes `name` fit: parameters, then template arguments are replaced by `ellipsis`, then the end is cut.
std::string fit_name(std::string_view name, std::size_t width, std::string_view ellipsis);
/// Its begin and `ellipsis`.
std::string fit_words(std::string_view text, std::size_t width, std::string_view ellipsis);
/// "main > solve > MPI_Wait", and when that does not fit its end, which says most.
std::string fit_path(const std::string& path, std::size_t width, std::string_view ellipsis);
std::string joined_path(const std::vector<std::string>& names);

}  // namespace refrain::report
