add_executable(test_tools ${CMAKE_CURRENT_LIST_DIR}/tools/launchers_test.cpp ${CMAKE_CURRENT_LIST_DIR}/tools/program_test.cpp)
target_link_libraries(test_tools PRIVATE refrain_tools GTest::gtest_main)
gtest_discover_tests(test_tools TEST_PREFIX tools. DISCOVERY_MODE PRE_TEST)
