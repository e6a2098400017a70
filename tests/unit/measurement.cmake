add_executable(test_measurement ${CMAKE_CURRENT_LIST_DIR}/measurement/function_name_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/call_tree_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/followers_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/modules_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/regions_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/call_target_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/stopping_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/thread_cpu_clock_test.cpp)
target_link_libraries(test_measurement PRIVATE refrain_measurement_hot refrain_measurement refrain_clustering
  refrain_iteration_log_reader refrain_platform
  refrain_unwind GTest::gtest_main ${CMAKE_DL_LIBS})
add_library(unloadable MODULE ${PROJECT_SOURCE_DIR}/tests/unit/measurement/unloadable.c)
add_library(unloadable_too MODULE ${PROJECT_SOURCE_DIR}/tests/unit/measurement/unloadable.c)
target_compile_definitions(unloadable PRIVATE ANSWER=1)
target_compile_definitions(unloadable_too PRIVATE ANSWER=2)
target_compile_definitions(test_measurement PRIVATE UNLOADABLE="$<TARGET_FILE:unloadable>" UNLOADABLE_TOO="$<TARGET_FILE:unloadable_too>")
add_dependencies(test_measurement unloadable unloadable_too)
gtest_discover_tests(test_measurement DISCOVERY_MODE PRE_TEST)
