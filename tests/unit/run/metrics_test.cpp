#include "offline/run/metrics.hpp"

#include <gtest/gtest.h>

namespace refrain::run {
namespace {

TEST(Metrics, are_a_tree) {
  const Metrics metrics;
  for (const std::size_t m : metrics.listed()) {
    EXPECT_LT(metrics[m].parent, static_cast<int>(m)) << "parents come first";
    EXPECT_EQ(metrics.find(metrics[m].name), m);
    EXPECT_FALSE(metrics[m].help.empty());
  }
  EXPECT_EQ(metrics.find("weather"), std::nullopt);
  EXPECT_EQ(metrics.find("mark_visits"), std::nullopt) << "marks are not listed";
  EXPECT_EQ(metrics.find("mpi_calls"), metrics.find("visits")) << "the name that iterations have";
  EXPECT_EQ(metrics[metrics.of(format::MetricId::MarkTime)].name, "mark_time");
  EXPECT_EQ(metrics[*metrics.find("off_cpu_mpi")].column(), "off_cpu_mpi_s");
  EXPECT_EQ(metrics[wall].name, "wall");
  EXPECT_EQ(metrics[measurement_off].name, "measurement_off");
  EXPECT_EQ(Metrics::names().size(), metrics.listed().size());
}

TEST(Metrics, of_mpi_are_told_apart_by_class) {
  EXPECT_EQ(class_of_mpi("MPI_Send"), mpi_point_to_point);
  EXPECT_EQ(class_of_mpi("MPI_Wait"), mpi_completion);
  EXPECT_EQ(class_of_mpi("MPI_Allreduce"), mpi_collective);
  EXPECT_EQ(class_of_mpi("MPI_Comm_dup_of_mine"), mpi_other);
}

TEST(Metrics, that_ranks_were_asked_for_have_one_number_each) {
  Metrics metrics;
  metrics.ask_for({"cache_misses", "1"});
  metrics.ask_for({"off_time", "ns"});
  metrics.ask_for({"cache_misses", "1"});
  ASSERT_EQ(metrics.asked_for().size(), 2u);
  EXPECT_EQ(metrics.find_asked_for("off_time"), 1u);
  const Metric& time = metrics[Metrics::asked_for_begin() + 1];
  EXPECT_EQ(time.name, "off_time");
  EXPECT_EQ(time.unit, "s");
  EXPECT_EQ(time.in_unit(Integer{1'500'000'000}), 1.5);
}

TEST(Metrics, that_tools_have_found_come_last_and_once) {
  Metrics metrics;
  experiment::SavedMetric late;
  late.name = "late_sender", late.parent = "mpi_point_to_point", late.is_sampled = true;
  experiment::SavedMetric taken;
  taken.name = "wall";
  experiment::SavedMetric part;
  part.name = "part_of_it", part.parent = "late_sender";
  metrics.add({late, taken, part});
  ASSERT_EQ(metrics.found().size(), 2u);
  EXPECT_TRUE(metrics.list().back().is_of_run_only());
  const std::vector<Metric> listed = metrics.list();
  EXPECT_EQ(listed[static_cast<std::size_t>(listed.back().parent)].name, "late_sender") << "by its place in the list";
  const Metric& found = metrics[*metrics.find("late_sender")];
  EXPECT_EQ(found.parent, static_cast<int>(mpi_point_to_point));
  EXPECT_EQ(found.adds, Adds::Estimate);
}

}  // namespace
}  // namespace refrain::run
