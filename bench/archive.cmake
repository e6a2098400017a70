add_executable(bench_archive ${CMAKE_CURRENT_LIST_DIR}/archive_write.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../tests/unit/record/sample_job.cpp)
target_link_libraries(bench_archive PRIVATE refrain_experiment refrain_record refrain_clustering refrain_waits refrain_platform
  benchmark::benchmark ${CMAKE_DL_LIBS})
