# What several programs with tests share: an experiment that is made by hand, and damage to its files.
add_library(sample_job OBJECT ${CMAKE_CURRENT_LIST_DIR}/archive/sample_job.cpp)
target_link_libraries(sample_job PRIVATE refrain_archive refrain_experiment refrain_platform)
add_library(damaged_files OBJECT ${CMAKE_CURRENT_LIST_DIR}/../fuzz/archive/mutations.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../fuzz/archive/file_surgery.cpp)
target_link_libraries(damaged_files PRIVATE refrain_archive refrain_experiment refrain_platform)
foreach(shared sample_job damaged_files)
  target_compile_options(${shared} PRIVATE $<$<CONFIG:Release>:-O1>)
endforeach()

refrain_unit_test(test_archive unit.archive UNIFY
  ${CMAKE_CURRENT_LIST_DIR}/archive/round_trip_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/parallel_write_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/failing_writes_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/damaged_file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/local_damage_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/later_metric_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/experiment_directory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/iterations_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/format_document_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/kept_analysis_test.cpp ${CMAKE_CURRENT_LIST_DIR}/archive/kept_pools_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/manifest_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/packed_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/rank_pass_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/renamed_profile_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/extra_metrics_test.cpp ${CMAKE_CURRENT_LIST_DIR}/archive/totals_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/whole_file_test.cpp ${CMAKE_CURRENT_LIST_DIR}/archive/golden_test.cpp
  LIBRARIES sample_job damaged_files refrain_report_patterns refrain_report refrain_trace refrain_analysis refrain_experiment refrain_archive refrain_clustering refrain_waits refrain_events refrain_platform
  nlohmann_json::nlohmann_json)
target_compile_definitions(test_archive PRIVATE GOLDEN="${CMAKE_CURRENT_LIST_DIR}/../golden"
  FORMAT_DOCUMENT="${REFRAIN_SOURCE}/docs/file-format.md"
  REFRAIN_VERSION="${REFRAIN_VERSION}")
