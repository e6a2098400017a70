add_executable(test_clustering ${CMAKE_CURRENT_LIST_DIR}/clustering/clusterer_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/iteration_log_test.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/sample_store_test.cpp)
target_link_libraries(test_clustering PRIVATE refrain_clustering refrain_iteration_log_reader refrain_sample_reader refrain_platform GTest::gtest_main)
gtest_discover_tests(test_clustering TEST_PREFIX unit. DISCOVERY_MODE PRE_TEST)
