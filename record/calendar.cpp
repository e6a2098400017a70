#include "record/calendar.hpp"

namespace refrain::record {

namespace {

void two_digits(config::Line& line, int value) { line << (value < 10 ? "0" : "") << std::int64_t{value}; }

}  // namespace

CivilTime civil_time(std::int64_t epoch_ns) {
  const std::int64_t seconds = epoch_ns / 1'000'000'000;
  const int of_day = static_cast<int>(seconds % 86'400);
  // Days since 0000-03-01, in eras of 400 years; March is the first month so that the leap day is the year's last.
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
  const CivilTime t = civil_time(epoch_ns);
  line << std::int64_t{t.year} << "-";
  two_digits(line, t.month);
  line << "-";
  two_digits(line, t.day);
  line << "T";
  two_digits(line, t.hour);
  line << ":";
  two_digits(line, t.minute);
  line << ":";
  two_digits(line, t.second);
  line << "Z";
}

void append_compact_time(config::Line& line, std::int64_t epoch_ns) {
  const CivilTime t = civil_time(epoch_ns);
  line << std::int64_t{t.year};
  two_digits(line, t.month);
  two_digits(line, t.day);
  line << "-";
  two_digits(line, t.hour);
  two_digits(line, t.minute);
  two_digits(line, t.second);
}

}  // namespace refrain::record
