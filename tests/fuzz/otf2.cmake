refrain_unit_test(fuzz_otf2_mutations fuzz.otf2 ${CMAKE_CURRENT_LIST_DIR}/otf2/mutation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../unit/trace/archive_writer.cpp
  LIBRARIES refrain_patterns refrain_analysis refrain_trace refrain_experiment PkgConfig::otf2)
target_include_directories(fuzz_otf2_mutations PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
target_compile_definitions(fuzz_otf2_mutations PRIVATE SOURCE_DIRECTORY="${REFRAIN_SOURCE}")
