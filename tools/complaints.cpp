#include "tools/complaints.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "tools/exit_codes.hpp"

namespace refrain::tools {

int complain(const char* command, int code, const std::string& what) {
  fmt::print(stderr, "refrain {}: {}\n", command, what);
  return code;
}

void tell_damage(const char* command, const experiment::DamageLog& log) {
  constexpr std::size_t most = 5;
  const auto damage = log.lines();
  for (std::size_t i = 0; i < std::min(damage.size(), most); ++i) complain(command, exit_damaged, damage[i]);
  if (log.count() > most)
    complain(command, exit_damaged, fmt::format("and {} more parts are damaged", log.count() - most));
}

}  // namespace refrain::tools
