add_executable(test_unwind ${CMAKE_CURRENT_LIST_DIR}/unwind/tables_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/unwind/expression_test.cpp)
target_link_libraries(test_unwind PRIVATE refrain_unwind refrain_platform GTest::gtest_main)
gtest_discover_tests(test_unwind TEST_PREFIX unit. DISCOVERY_MODE PRE_TEST)
