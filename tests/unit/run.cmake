# The model of a run, on hand-made profiles whose sums are known.
refrain_unit_test(test_run unit.run
  ${CMAKE_CURRENT_LIST_DIR}/run/time_rules_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/quantities_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/replicates_book_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/metrics_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/rows_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/group_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/leaf_reader_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/loops_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/user_shares_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/share_pools_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/excluded_paths_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run/extra_metrics_test.cpp
  LIBRARIES refrain_run refrain_clustering refrain_waits refrain_platform)
