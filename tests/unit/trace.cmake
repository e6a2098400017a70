refrain_unit_test(test_trace unit.trace ${CMAKE_CURRENT_LIST_DIR}/trace/otf2_archive_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/functions_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/archive_writer.cpp
  LIBRARIES refrain_trace refrain_experiment PkgConfig::otf2)
target_include_directories(test_trace PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
