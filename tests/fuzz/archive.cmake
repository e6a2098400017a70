# The deterministic fuzzer is an ordinary test; the open-ended one needs clang: cmake -D REFRAIN_FUZZ=ON, CXX=clang++.
add_executable(fuzz_archive_mutations
  ${CMAKE_CURRENT_LIST_DIR}/archive/mutation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/archive/file_surgery.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../unit/archive/sample_job.cpp)
target_link_libraries(fuzz_archive_mutations PRIVATE refrain_analysis refrain_archive refrain_archive_writer refrain_clustering
  refrain_platform  GTest::gtest_main ${CMAKE_DL_LIBS})
gtest_discover_tests(fuzz_archive_mutations DISCOVERY_MODE PRE_TEST)

option(REFRAIN_FUZZ "Build the libFuzzer programs (clang only)" OFF)
if(REFRAIN_FUZZ)
  find_package(nlohmann_json REQUIRED)
  add_executable(archive_fuzzer ${CMAKE_CURRENT_LIST_DIR}/archive_fuzzer.cpp ${CMAKE_CURRENT_LIST_DIR}/archive/file_surgery.cpp)
  get_target_property(archive_sources refrain_archive SOURCES)
  foreach(source ${archive_sources})  # compiled again, with coverage
    target_sources(archive_fuzzer PRIVATE ${PROJECT_SOURCE_DIR}/archive/${source})
  endforeach()
  target_compile_options(archive_fuzzer PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
  target_link_options(archive_fuzzer PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(archive_fuzzer PRIVATE nlohmann_json::nlohmann_json ${REFRAIN_ZSTD_STATIC})
  target_include_directories(archive_fuzzer PRIVATE ${PROJECT_SOURCE_DIR}
    $<TARGET_PROPERTY:refrain_platform,INTERFACE_INCLUDE_DIRECTORIES>)
endif()
