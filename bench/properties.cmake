# The evaluation of properties in a database, and the loading of experiments.
add_executable(bench_properties ${CMAKE_CURRENT_LIST_DIR}/properties.cpp)
target_link_libraries(bench_properties PRIVATE refrain_database fmt::fmt)
