refrain_unit_test(test_statistics unit.statistics ${CMAKE_CURRENT_LIST_DIR}/statistics/statistics_test.cpp
  LIBRARIES refrain_statistics)
