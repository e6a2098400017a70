refrain_unit_test(fuzz_otf2_mutations fuzz.otf2 ${CMAKE_CURRENT_LIST_DIR}/otf2/mutation_test.cpp
  LIBRARIES archive_writer refrain_patterns refrain_analysis refrain_trace refrain_experiment PkgConfig::otf2)
target_compile_definitions(fuzz_otf2_mutations PRIVATE SOURCE_DIRECTORY="${REFRAIN_SOURCE}")
