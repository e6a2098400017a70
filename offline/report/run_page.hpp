#pragma once
/// The page of a run, or of a part of it: its times, then a view, then what one should know about the numbers.

#include <string>
#include <vector>

#include "offline/report/text_page.hpp"

namespace refrain::report {

/// What was moved; what a call only completed has been counted where it was begun.
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
  /// "call path", "call paths", for what was left out as too small.
  virtual std::pair<const char*, const char*> folded_names() const { return {"line", "lines"}; }
  virtual void more_footnotes() {}

  double wall() const { return d_.tree.totals.wall_s; }
  double least_time() const { return wall() * min_share_ / 100; }
  void fold(std::size_t count, double seconds) { folded_ += count, folded_s_ += seconds; }

  const Document& d_;
  double min_share_;  ///< percent of the wall time

 private:
  void share_line(const std::string& label, double seconds, double of_first_threads, const std::string& remark = "");
  bool has_helper_threads() const;
  std::string how_sampled() const;
  std::string mpi_off_cpu() const;
  void efficiency();
  void shares();
  void where_time_goes();
  void findings();
  void footnotes();
  void folded_runtimes();
  void totals_of_extra();
  void losses();

  std::size_t folded_ = 0;
  double folded_s_ = 0;
};

}  // namespace refrain::report
