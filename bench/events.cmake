# The cost of keeping a sample of events, of reading and of exporting them.
add_executable(bench_span_store ${CMAKE_CURRENT_LIST_DIR}/span_store.cpp)
target_link_libraries(bench_span_store PRIVATE refrain_events benchmark::benchmark_main)
find_package(PkgConfig REQUIRED)
pkg_check_modules(otf2 REQUIRED IMPORTED_TARGET otf2)
add_executable(bench_trace_read ${CMAKE_CURRENT_LIST_DIR}/trace_read.cpp)
target_link_libraries(bench_trace_read PRIVATE refrain_patterns refrain_trace refrain_experiment PkgConfig::otf2)
add_executable(otf2_write ${CMAKE_CURRENT_LIST_DIR}/otf2_write.cpp)
target_link_libraries(otf2_write PRIVATE refrain_export refrain_trace refrain_analysis refrain_experiment PkgConfig::otf2)
add_executable(bench_pattern_search ${CMAKE_CURRENT_LIST_DIR}/pattern_search.cpp)
target_link_libraries(bench_pattern_search PRIVATE refrain_patterns refrain_trace refrain_experiment)

# The waiting times that a sample of single messages would have shown.
add_executable(bench_matched_waits matched_waits.cpp)
target_link_libraries(bench_matched_waits PRIVATE refrain_patterns refrain_trace refrain_experiment)
