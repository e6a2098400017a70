# Shared by several test programs: a hand-made experiment, and damage to its files.
add_library(sample_job OBJECT ${CMAKE_CURRENT_LIST_DIR}/record/sample_job.cpp)
target_link_libraries(sample_job PRIVATE refrain_record refrain_experiment refrain_platform)
add_library(damaged_files OBJECT ${CMAKE_CURRENT_LIST_DIR}/../fuzz/archive/mutations.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../fuzz/archive/file_surgery.cpp)
target_link_libraries(damaged_files PRIVATE refrain_record refrain_experiment refrain_platform)
foreach(shared sample_job damaged_files)
  target_compile_options(${shared} PRIVATE $<$<CONFIG:Release>:-O1>)
endforeach()

refrain_unit_test(test_record unit.record UNIFY
  ${CMAKE_CURRENT_LIST_DIR}/record/copies_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/round_trip_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/parallel_write_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/failing_writes_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/damaged_file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/local_damage_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/later_metric_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/experiment_directory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/iterations_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/format_document_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/kept_analysis_test.cpp ${CMAKE_CURRENT_LIST_DIR}/record/kept_pools_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/manifest_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/packed_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/rank_pass_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/renamed_profile_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/extra_metrics_test.cpp ${CMAKE_CURRENT_LIST_DIR}/record/totals_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/record/whole_file_test.cpp ${CMAKE_CURRENT_LIST_DIR}/record/golden_test.cpp
  LIBRARIES sample_job damaged_files refrain_report_patterns refrain_report refrain_trace refrain_analysis refrain_experiment refrain_record refrain_clustering refrain_waits refrain_events refrain_platform
  nlohmann_json::nlohmann_json)
target_compile_definitions(test_record PRIVATE GOLDEN="${CMAKE_CURRENT_LIST_DIR}/../golden"
  FORMAT_DOCUMENT="${REFRAIN_SOURCE}/docs/file-format.md"
  REFRAIN_VERSION="${REFRAIN_VERSION}")

# The record of this process, made of real locations.
refrain_unit_test(test_rank_record unit.record ${CMAKE_CURRENT_LIST_DIR}/record/rank_record_test.cpp ${REFRAIN_SOURCE}/record/rank_record.cpp
  LIBRARIES refrain_measurement_hot refrain_measurement refrain_clustering refrain_waits refrain_events refrain_config refrain_platform refrain_unwind)
