# Offline analysis. The test of start-up code compiles small programs while it runs.
refrain_unit_test(test_analysis unit.analysis UNIFY
  ${CMAKE_CURRENT_LIST_DIR}/analysis/call_tree_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/iteration_profile_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/cores_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/run_comparison_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/run_series_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/several_runs_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/iteration_shape_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/autocorrelation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/short_names_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/cluster_groups_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/start_up_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/job_classes_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/analysis/efficiency_test.cpp
  LIBRARIES refrain_analysis refrain_clustering refrain_waits refrain_platform)
target_compile_definitions(test_analysis PRIVATE
  PROGRAMS="${CMAKE_CURRENT_LIST_DIR}/analysis/programs" C_COMPILER="${CMAKE_C_COMPILER}")
