# Events: what it takes to keep a sample of them, and to read them.
add_executable(bench_span_store ${CMAKE_CURRENT_LIST_DIR}/span_store.cpp)
target_link_libraries(bench_span_store PRIVATE refrain_events benchmark::benchmark_main)
find_package(PkgConfig REQUIRED)
pkg_check_modules(otf2 REQUIRED IMPORTED_TARGET otf2)
add_executable(bench_trace_read ${CMAKE_CURRENT_LIST_DIR}/trace_read.cpp)
target_link_libraries(bench_trace_read PRIVATE refrain_trace refrain_experiment PkgConfig::otf2)
