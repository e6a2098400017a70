#include "offline/explorer/page.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "offline/explorer/pack.hpp"
#include "offline/explorer/sections.hpp"

namespace refrain::explorer {
namespace {

constexpr std::string_view mark = "<!--refrain:payload-->";

void write_section(std::size_t run, const char* name, const std::string& section, Repeats repeats, const Sink& out) {
  if (section.empty()) return;
  out(fmt::format(R"(<script type="application/octet-stream" data-run="{}" data-section="{}">)", run, name));
  out(base64(compressed(section, repeats)));
  out("</script>\n");
}

}  // namespace

void write_page(std::string_view page, std::span<const Run> runs, const Sink& out) {
  const std::size_t at = page.find(mark);
  if (at == page.npos) throw std::logic_error("the page has no place for data");
  out(page.substr(0, at));
  struct Section {
    const char* name;
    std::string (*make)(const Run&);
    Repeats repeats = Repeats::Sequences;
  };
  constexpr Section sections[] = {{"head", head_section},
                                  {"sums", sums_section},
                                  {"cells", cells_section},
                                  {"series", series_section},
                                  {"maps", maps_section, Repeats::Bytes}};
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (const auto& [name, make, repeats] : sections) write_section(run, name, make(runs[run]), repeats, out);
  out(page.substr(at + mark.size()));
}

}  // namespace refrain::explorer
