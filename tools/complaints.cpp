#include "tools/complaints.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "tools/console.hpp"
#include "tools/exit_codes.hpp"

namespace refrain::tools {

namespace {

bool is_printed = true;
std::vector<std::string> said;

}  // namespace

const std::vector<std::string>& complaints() { return said; }
void print_complaints(bool are_printed) { is_printed = are_printed; }

int complain(const char* command, int code, const std::string& what) {
  if (is_printed) say("refrain {}: {}", command, what);
  said.push_back(what);
  return code;
}

int tell_damage(const char* command, const experiment::DamageLog& log) {
  constexpr std::size_t most = 5;
  const auto damage = log.lines();
  for (std::size_t i = 0; i < std::min(damage.size(), most); ++i) complain(command, exit_damaged, damage[i]);
  if (log.count() > most)
    complain(command, exit_damaged, fmt::format("and {} more parts are damaged", log.count() - most));
  return log.count() == 0 ? exit_ok : exit_damaged;
}

int guarded(const char* command, const std::function<int()>& run) {
  try {
    return run();
  } catch (const experiment::ReadError& error) {
    return complain(command, exit_unreadable, error.what());
  } catch (const std::exception& error) {
    return complain(command, exit_usage, error.what());
  }
}

}  // namespace refrain::tools
