#pragma once
/// Numbers as people read them. Fixed style, whatever the locale.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::report {

std::string human_time(double seconds);  ///< "1.23 s", "45.6 ms", "7.89 us", "12 ns", "3:05:12 h" from 100 minutes on
std::string human_bytes(std::int64_t bytes);     ///< "12.3 MiB", "512 B"
std::string human_count(std::int64_t count);     ///< "1,234,567"; from 10^8 on "123 M"
std::string percent(double part, double whole);  ///< "12.3", "0.01" below 0.1, "" for nothing
/// The same without digits that the standard error makes meaningless.
std::string human_time(double seconds, double error);
std::string percent(double part, double whole, double error);
std::string error_in_percent(double error, double whole);       ///< "0.3"; "" for none
std::string rank_list(const std::vector<std::int32_t>& ranks);  ///< ascending: "0, 3-7, 9"

/// Number of terminal columns of a UTF-8 text: code points, which is right for what programs are written in.
std::size_t display_width(std::string_view text);
/// The first `width` columns.
std::string cut_to(std::string_view text, std::size_t width);
/// Makes `name` fit: parameters, then template arguments are replaced by `ellipsis`, then the end is cut.
std::string fit_name(std::string_view name, std::size_t width, std::string_view ellipsis);
/// "main > solve > MPI_Wait", and when that does not fit its end, which says most.
std::string fit_path(const std::string& path, std::size_t width, std::string_view ellipsis);
std::string joined_path(const std::vector<std::string>& names);

}  // namespace refrain::report
