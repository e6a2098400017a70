# Sanitizers do not know threads that libc does not know.
if(NOT REFRAIN_SANITIZE)
  add_executable(test_platform ${CMAKE_CURRENT_LIST_DIR}/platform/helper_thread_test.cpp)
  target_link_libraries(test_platform PRIVATE refrain_platform GTest::gtest_main)
  gtest_discover_tests(test_platform TEST_PREFIX unit. DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unsanitized)
endif()
