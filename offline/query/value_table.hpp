#pragma once
/// The table `value`: values of runs by location, unit, call path and metric, read one location and unit at a time.

#include "offline/query/runs.hpp"
#include "offline/query/streamed_table.hpp"

namespace refrain::query {

class ValueTable : public StreamedTable {
 public:
  /// `runs` must outlive it.
  explicit ValueTable(Runs& runs) : runs_(runs) {}

  const char* declaration() const override;
  std::vector<Bounded> bounded() const override;
  std::vector<int> order() const override;
  double rows() const override;
  std::unique_ptr<RowStream> open(std::span<const Bound> bounds) override;

 private:
  Runs& runs_;
};

}  // namespace refrain::query
