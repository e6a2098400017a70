// All findings, also those for which the first page has no room.
#include "offline/report/run_page.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

class FindingsPage : public RunPage {
 public:
  FindingsPage(const Document& document, const Terminal& terminal) : RunPage(document, terminal) {}

 private:
  void view() override {
    if (d_.options.findings.empty()) line("Nothing stands out.");
  }
};

std::string findings_page(const Document& document, const Terminal& terminal) {
  return FindingsPage(document, terminal).render();
}

}  // namespace

const View findings_view{
    "--findings", [](const Options& options) { return options.all_findings; }, {}, nullptr, findings_table,
    findings_page};

}  // namespace refrain::report
