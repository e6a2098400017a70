# Exports what the test and benchmark projects need from this build: its libraries and its configuration.
set(libraries refrain_platform refrain_config refrain_format refrain_statistics refrain_unwind refrain_unwind_proof refrain_clustering refrain_waits refrain_wait_estimates refrain_events
  refrain_measurement_hot refrain_measurement refrain_sampling_hot refrain_sampling refrain_adapter_papi refrain_guest
  refrain_adapter_user refrain_mpi_coverage refrain_record refrain_record_process refrain_iteration_log_reader refrain_experiment refrain_run refrain_trace refrain_patterns refrain_export refrain_symbols refrain_analysis refrain_findings refrain_properties refrain_database refrain_json refrain_report refrain_report_patterns refrain_report_foreign refrain_explorer refrain_anonymous refrain_query
  refrain_tools refrain_runtime refrain_own_functions refrain-serial)
foreach(mpi ${REFRAIN_MPIS})
  list(APPEND libraries refrain_adapter_${mpi} refrain-${mpi})
endforeach()
export(TARGETS ${libraries} FILE ${PROJECT_BINARY_DIR}/RefrainLibraries.cmake)
configure_file(${PROJECT_SOURCE_DIR}/cmake/RefrainBuild.cmake.in ${PROJECT_BINARY_DIR}/RefrainBuild.cmake @ONLY)
