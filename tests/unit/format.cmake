refrain_unit_test(test_format unit.format
  ${CMAKE_CURRENT_LIST_DIR}/format/bytes_test.cpp ${CMAKE_CURRENT_LIST_DIR}/format/mpi_functions_test.cpp
  LIBRARIES refrain_format refrain_waits refrain_wait_estimates)
