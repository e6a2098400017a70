# The deterministic fuzzer is an ordinary test; the open-ended one needs clang: cmake -D REFRAIN_FUZZ=ON, CXX=clang++.
set(readers sample_job damaged_files refrain_analysis refrain_experiment refrain_record refrain_clustering refrain_waits refrain_platform)
refrain_unit_test(fuzz_archive_mutations fuzz.archive ${CMAKE_CURRENT_LIST_DIR}/archive/mutation_test.cpp
  LIBRARIES ${readers})
refrain_unit_test(fuzz_report_views fuzz.report ${CMAKE_CURRENT_LIST_DIR}/archive/view_test.cpp
  LIBRARIES refrain_report ${readers})
refrain_unit_test(fuzz_names_mutations fuzz.names ${CMAKE_CURRENT_LIST_DIR}/names/mutation_test.cpp
  LIBRARIES refrain_symbols ${readers})
target_include_directories(fuzz_names_mutations SYSTEM PRIVATE ${REFRAIN_XXHASH_INCLUDE})

option(REFRAIN_FUZZ "Build the libFuzzer programs (clang only)" OFF)
if(REFRAIN_FUZZ)
  add_executable(archive_fuzzer ${CMAKE_CURRENT_LIST_DIR}/archive_fuzzer.cpp ${CMAKE_CURRENT_LIST_DIR}/archive/file_surgery.cpp)
  foreach(source block_reader clean_text damage definition_merger experiment input_file
    iteration_frames_reader loops_reader manifest_reader profile_file rank_reader schema totals_reader unpack)
    target_sources(archive_fuzzer PRIVATE ${REFRAIN_SOURCE}/offline/experiment/${source}.cpp)  # compiled again, with coverage
  endforeach()
  target_compile_options(archive_fuzzer PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
  target_link_options(archive_fuzzer PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(archive_fuzzer PRIVATE ${REFRAIN_ZSTD_STATIC})
  target_include_directories(archive_fuzzer PRIVATE ${REFRAIN_SOURCE}
    $<TARGET_PROPERTY:refrain_platform,INTERFACE_INCLUDE_DIRECTORIES>)
endif()
