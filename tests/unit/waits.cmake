refrain_unit_test(test_waits unit.waits ${CMAKE_CURRENT_LIST_DIR}/waits/call_bin_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/waits/durations_test.cpp ${CMAKE_CURRENT_LIST_DIR}/waits/estimate_test.cpp
  LIBRARIES refrain_waits refrain_wait_estimates)
