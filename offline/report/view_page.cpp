// The text of a view: its tables in their frame.
#include <utility>

#include "offline/report/run_page.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

class ViewPage : public RunPage {
 public:
  ViewPage(const Document& document, const Terminal& terminal, std::vector<Table> tables)
      : RunPage(document, terminal), tables_(std::move(tables)) {}

 private:
  void view() override {
    Small small{least_time()};
    for (const Table& table : tables_) print(table, &small);
    fold(small.count, small.seconds);
  }
  void more_footnotes() override {
    for (const Table& table : tables_) print(table.footnotes);
  }
  std::pair<const char*, const char*> folded_names() const override {
    return tables_.empty() ? RunPage::folded_names() : std::pair(tables_[0].row_name, tables_[0].row_names);
  }

  const std::vector<Table> tables_;
};

class HeadingPage : TextPage {
 public:
  explicit HeadingPage(const Terminal& terminal) : TextPage(terminal) {}

  std::string render(const Document& d, const std::vector<Table>& tables) {
    for (const Table& table : tables) print(table);
    for (const Table& table : tables) print(table.footnotes);
    const std::string body = std::exchange(out_, {});
    warnings(d);  // including damage that was found just now
    heading(d);
    fitness(d);
    return out_ + body;
  }
};

}  // namespace

std::string page_of(const Document& document, const Terminal& terminal, Frame frame, std::vector<Table> tables) {
  if (frame == Frame::Heading) return HeadingPage(terminal).render(document, tables);
  return ViewPage(document, terminal, std::move(tables)).render();
}

}  // namespace refrain::report
