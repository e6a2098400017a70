#include "record/calendar.hpp"

namespace refrain::record {

namespace {

/// Appends `value` with two digits behind the text `before`.
void append(config::Line& line, const char* before, int value) {
  line << before << (value < 10 ? "0" : "") << std::int64_t{value};
}

void append_time(config::Line& line, std::int64_t epoch_ns, const char* in_date, const char* between,
                 const char* in_time) {
  const CivilTime t = civil_time(epoch_ns);
  line << std::int64_t{t.year};
  append(line, in_date, t.month);
  append(line, in_date, t.day);
  append(line, between, t.hour);
  append(line, in_time, t.minute);
  append(line, in_time, t.second);
}

}  // namespace

CivilTime civil_time(std::int64_t epoch_ns) {
  const std::int64_t seconds = epoch_ns / 1'000'000'000;
  const int of_day = static_cast<int>(seconds % 86'400);
  // Days since 0000-03-01, in eras of 400 years. March is the first month, so that the leap day is the last day of the
  // year.
  const std::int64_t days = seconds / 86'400 + 719'468;
  const std::int64_t era = days / 146'097;
  const std::int64_t of_era = days % 146'097;
  const std::int64_t year_of_era = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t march_month = (5 * of_year + 2) / 153;
  const int day = static_cast<int>(of_year - (153 * march_month + 2) / 5 + 1);
  const int month = static_cast<int>(march_month < 10 ? march_month + 3 : march_month - 9);
  const int year = static_cast<int>(year_of_era + era * 400 + (month <= 2));
  return {year, month, day, of_day / 3600, of_day / 60 % 60, of_day % 60};
}

void append_iso_time(config::Line& line, std::int64_t epoch_ns) {
  append_time(line, epoch_ns, "-", "T", ":");
  line << "Z";
}

void append_compact_time(config::Line& line, std::int64_t epoch_ns) { append_time(line, epoch_ns, "", "-", ""); }

}  // namespace refrain::record
