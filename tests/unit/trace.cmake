refrain_unit_test(test_trace unit.trace ${CMAKE_CURRENT_LIST_DIR}/trace/otf2_archive_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/functions_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/archive_writer.cpp
  LIBRARIES refrain_trace refrain_experiment PkgConfig::otf2)
target_include_directories(test_trace PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
refrain_unit_test(test_missing_events unit.trace ${CMAKE_CURRENT_LIST_DIR}/trace/missing_events_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/off_cpu_of_causes_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/thinned_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/estimate_book_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/sample_job.cpp
  LIBRARIES refrain_export refrain_patterns refrain_trace refrain_analysis refrain_experiment refrain_archive refrain_clustering refrain_waits
    refrain_events refrain_platform)
target_include_directories(test_missing_events PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../..)
refrain_unit_test(test_open_requests unit.trace ${CMAKE_CURRENT_LIST_DIR}/trace/open_requests_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/archive_writer.cpp
  LIBRARIES refrain_patterns refrain_trace refrain_experiment refrain_events refrain_waits PkgConfig::otf2)
target_include_directories(test_open_requests PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
