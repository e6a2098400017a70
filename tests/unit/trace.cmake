# Writes OTF2 archives by hand.
add_library(archive_writer OBJECT ${CMAKE_CURRENT_LIST_DIR}/trace/archive_writer.cpp)
target_compile_options(archive_writer PRIVATE $<$<CONFIG:Release>:-O1>)
target_include_directories(archive_writer PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
target_link_libraries(archive_writer PRIVATE refrain_trace PkgConfig::otf2)

refrain_unit_test(test_trace unit.trace ${CMAKE_CURRENT_LIST_DIR}/trace/otf2_archive_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/functions_test.cpp
  LIBRARIES archive_writer refrain_trace refrain_experiment PkgConfig::otf2)
refrain_unit_test(test_missing_events unit.trace ${CMAKE_CURRENT_LIST_DIR}/trace/missing_events_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/thinned_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace/estimate_book_test.cpp
  LIBRARIES sample_job refrain_export refrain_patterns refrain_trace refrain_analysis refrain_experiment refrain_record refrain_clustering refrain_waits
    refrain_events refrain_platform)
target_include_directories(test_missing_events PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../..)
refrain_unit_test(test_open_requests unit.trace ${CMAKE_CURRENT_LIST_DIR}/trace/open_requests_test.cpp
  LIBRARIES archive_writer refrain_patterns refrain_trace refrain_experiment refrain_events refrain_waits PkgConfig::otf2)
