# Tests of the unwinder on real stacks.
set(unwind_tests ${CMAKE_CURRENT_LIST_DIR}/unwind)

# The differential test: one workload, built with all sets of options that change how frames look.
set(REFRAIN_WORKLOAD_o0 -O0)
set(REFRAIN_WORKLOAD_o0_without_fp -O0 -fomit-frame-pointer)
set(REFRAIN_WORKLOAD_o2 -O2 -fomit-frame-pointer)
set(REFRAIN_WORKLOAD_o2_with_fp -O2 -fno-omit-frame-pointer)
set(REFRAIN_WORKLOAD_o3 -O3 -fomit-frame-pointer)
set(REFRAIN_WORKLOAD_o3_with_fp -O3 -fno-omit-frame-pointer)
set(REFRAIN_WORKLOAD_o3_realigned -O3 -mstackrealign)
set(REFRAIN_WORKLOAD_o2_pushing_arguments -O2 -fomit-frame-pointer -mno-accumulate-outgoing-args -fcf-protection=none)
file(STRINGS ${unwind_tests}/workload_variants.def variants REGEX "^UNWIND_WORKLOAD_VARIANT")
foreach(row ${variants})
  string(REGEX REPLACE ".*\\((.*)\\).*" "\\1" variant ${row})
  add_library(unwind_workload_${variant} OBJECT ${unwind_tests}/workload.cpp)
  target_compile_definitions(unwind_workload_${variant} PRIVATE UNWIND_VARIANT=${variant})
  # Recursion that only an exception or a longjmp ends is on purpose.
  target_compile_options(unwind_workload_${variant} PRIVATE -g -Wno-clobbered -Wno-infinite-recursion
    -fno-sanitize=all ${REFRAIN_WORKLOAD_${variant}})
  list(APPEND workload_objects $<TARGET_OBJECTS:unwind_workload_${variant}>)
endforeach()

if(REFRAIN_SANITIZE)
  set(unwind_captures ENVIRONMENT REFRAIN_TEST_CAPTURES=50000)
endif()
# The thread sanitizer delivers signals late, with contexts that are no longer true.
refrain_unit_test(test_unwind_differential async.unwind ${unwind_tests}/differential.cpp ${unwind_tests}/captures.cpp
  LIBRARIES refrain_unwind refrain_platform
  PROPERTIES LABELS no-tsan TIMEOUT ${time_limit} ${unwind_captures})
target_sources(test_unwind_differential PRIVATE ${workload_objects})
target_compile_options(test_unwind_differential PRIVATE -O2 -g)
set_target_properties(test_unwind_differential PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # has other options of the compiler

add_test(NAME async.unwind.ten_million_captures COMMAND test_unwind_differential --gtest_filter=*every_instruction)
set_tests_properties(async.unwind.ten_million_captures PROPERTIES LABELS "unsanitized;long" TIMEOUT 3600
  ENVIRONMENT REFRAIN_TEST_CAPTURES=10000000)

# Two libraries, alike but for the size of a frame, that take each other's place in memory.
foreach(plugin SMALL=96 LARGE=224)
  string(REPLACE "=" ";" plugin ${plugin})
  list(GET plugin 0 name)
  list(GET plugin 1 bytes)
  add_library(unwind_plugin_${name} MODULE ${unwind_tests}/plugin.cpp)
  target_compile_definitions(unwind_plugin_${name} PRIVATE UNWIND_PLUGIN_FRAME=${bytes})
  target_compile_options(unwind_plugin_${name} PRIVATE -O1 -fomit-frame-pointer -fno-stack-protector -fno-sanitize=all)
endforeach()
add_library(unwind_realigned OBJECT ${unwind_tests}/realigned.cpp)
target_compile_options(unwind_realigned PRIVATE -O0 -fomit-frame-pointer -fno-sanitize=all)
refrain_unit_test(test_unwind_faults async.unwind ${unwind_tests}/faults.cpp LIBRARIES refrain_unwind refrain_platform
  PROPERTIES LABELS async)
target_sources(test_unwind_faults PRIVATE $<TARGET_OBJECTS:unwind_realigned>)
# Frame pointers that matter, so that corrupt ones do too.
target_compile_options(test_unwind_faults PRIVATE -O1 -fno-omit-frame-pointer)
set_target_properties(test_unwind_faults PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
target_compile_definitions(test_unwind_faults PRIVATE UNWIND_PLUGIN_SMALL="$<TARGET_FILE:unwind_plugin_SMALL>"
  UNWIND_PLUGIN_LARGE="$<TARGET_FILE:unwind_plugin_LARGE>")
add_dependencies(test_unwind_faults unwind_plugin_SMALL unwind_plugin_LARGE)
