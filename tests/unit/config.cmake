add_executable(test_config ${CMAKE_CURRENT_LIST_DIR}/config/configuration_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/config/function_name_test.cpp ${CMAKE_CURRENT_LIST_DIR}/config/inlined_code_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/config/metric_list_test.cpp)
target_link_libraries(test_config PRIVATE refrain_config GTest::gtest_main)
gtest_discover_tests(test_config TEST_PREFIX config. DISCOVERY_MODE PRE_TEST)
