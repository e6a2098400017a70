add_executable(test_report
  ${CMAKE_CURRENT_LIST_DIR}/report/units_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/report_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/loops_test.cpp)
target_link_libraries(test_report PRIVATE refrain_report refrain_clustering refrain_platform GTest::gtest_main)
gtest_discover_tests(test_report DISCOVERY_MODE PRE_TEST)
