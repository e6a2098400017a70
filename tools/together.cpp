#include "tools/together.hpp"

#include <algorithm>

#include "offline/export/otf2.hpp"
#include "tools/complaints.hpp"
#include "tools/exit_codes.hpp"

namespace refrain::tools {
namespace {

using Work = std::function<int(exports::ProcessGroup&)>;

int lead(const char* command, exports::ProcessGroup& processes, const Work& work) {
  constexpr int worst_last[] = {exit_ok, exit_damaged, exit_usage, exit_unreadable};
  const auto badness = [&](int code) { return std::ranges::find(worst_last, code) - worst_last; };
  int code = work(processes);
  processes.end({code, {}});
  // If something failed, a process may have died; living processes report every five seconds.
  constexpr std::chrono::seconds most_after_failure(20);
  const bool has_worked = code == exit_ok || code == exit_damaged;
  const auto& words = has_worked ? processes.dismiss() : processes.dismiss(most_after_failure);
  for (const exports::ProcessGroup::LastWord& word : words) {
    code = std::max(code, word.code, [&](int a, int b) { return badness(a) < badness(b); });
    for (const std::string& line : word.lines)
      if (std::ranges::find(complaints(), line) == complaints().end()) complain(command, code, line);
  }
  return code;
}

int follow(const char* command, exports::ProcessGroup& processes, const Work& work) {
  using First = exports::ProcessGroup::First;
  print_complaints(false);
  const int code = work(processes);
  const First first = processes.first();
  if (first == First::IsSilent && !complaints().empty()) {
    print_complaints(true);
    return complain(command, code, std::string(complaints().back()));
  }
  try {
    // If the first process has ended, it knows better than this one what went wrong.
    processes.end({code, first == First::HasEnded ? std::vector<std::string>() : complaints()});
  } catch (const exports::ExportError&) {
    // The first process has removed the files.
  }
  return exit_ok;
}

}  // namespace

int work_together(const char* command, const std::filesystem::path& meeting, exports::PlaceInJob place,
                  std::chrono::milliseconds patience, const Work& work) {
  return guarded(command, [&] {
    exports::ProcessGroup processes(meeting, place, patience);
    return place.rank == 0 ? lead(command, processes, work) : follow(command, processes, work);
  });
}

}  // namespace refrain::tools
