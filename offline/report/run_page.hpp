#pragma once
/// The page of a run or of a part of it: what ran and where, whether there were enough cores, findings by cost, where
/// the time is, a view, and what was not seen. Each takes one line if that is enough.

#include <optional>
#include <string>
#include <vector>

#include "offline/report/node_waits.hpp"
#include "offline/report/text_page.hpp"

namespace refrain::report {

/// Bytes that calls have moved. Bytes that a call only completed count at the call that began them.
std::int64_t bytes_moved(const analysis::Counts& counts);
std::string human_extra(const experiment::ExtraMetric& metric, std::int64_t value);

class RunPage : protected TextPage {
 public:
  std::string render();

 protected:
  RunPage(const Document& document, const Terminal& terminal)
      : TextPage(terminal), d_(document), min_share_(document.request.min_share.value_or(usual_min_share)) {}
  virtual ~RunPage() = default;
  virtual void view() = 0;
  /// Singular and plural of what was left out as too small: "call path", "call paths".
  virtual std::pair<const char*, const char*> folded_names() const { return {"line", "lines"}; }
  virtual void more_footnotes() {}

  double wall() const { return d_.tree.totals.wall_s; }
  double least_time() const { return wall() * min_share_ / 100; }
  void fold(std::size_t count, double seconds) { folded_ += count, folded_s_ += seconds; }
  /// By node of the tree; empty: nothing is known for this document.
  const std::vector<NodeWait>& waits();

  const Document& d_;
  double min_share_;  ///< percent of the wall time

 private:
  void share_line(const std::string& label, double seconds, double of_first_threads,
                  std::vector<std::string> remarks = {});
  bool has_helper_threads() const;
  std::vector<std::string> about_mpi();
  std::string about_waiting();
  void shares();
  void shares_of_foreign(const analysis::Times& first);
  void findings();
  void finding(std::size_t number);
  void with_options(const std::string& first, const std::string& text, const std::string& options);
  void footnotes();
  void folded_runtimes();
  void totals_of_extra();
  void losses();

  std::size_t folded_ = 0;
  double folded_s_ = 0;
  std::optional<std::vector<NodeWait>> waits_;
};

}  // namespace refrain::report
