refrain_unit_test(test_measurement unit.measurement
  ${CMAKE_CURRENT_LIST_DIR}/measurement/call_durations_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/call_tree_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/clock_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/followers_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/long_loops_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/own_location_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/own_time_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/modules_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/regions_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/symbols_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/call_target_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/off_cpu_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/open_call_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/stopping_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/stretches_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measurement/thread_cpu_clock_test.cpp
  LIBRARIES refrain_measurement_hot refrain_measurement refrain_clustering refrain_waits refrain_events refrain_config refrain_iteration_log_reader
    refrain_platform refrain_unwind)
# Libraries that the dynamic linker puts at one and the same address; two have no build-id.
foreach(library unloadable:1:sha1 unloadable_too:2:sha1 nameless:3:none nameless_too:4:none)
  string(REPLACE ":" ";" library ${library})
  list(GET library 0 name)
  list(GET library 1 answer)
  list(GET library 2 build_id)
  add_library(${name} MODULE ${REFRAIN_SOURCE}/tests/unit/measurement/unloadable.c)
  target_compile_definitions(${name} PRIVATE ANSWER=${answer})
  target_link_options(${name} PRIVATE -Wl,--build-id=${build_id})
  string(TOUPPER ${name} macro)
  target_compile_definitions(test_measurement PRIVATE ${macro}="$<TARGET_FILE:${name}>")
  add_dependencies(test_measurement ${name})
endforeach()
# Objects with holes between their segments, where other objects may lie: a library, and the test itself.
set(holes -Wl,-z,max-page-size=0x200000)
add_library(with_holes MODULE ${REFRAIN_SOURCE}/tests/unit/measurement/unloadable.c)
target_compile_definitions(with_holes PRIVATE ANSWER=5)
target_link_options(with_holes PRIVATE ${holes})
target_compile_definitions(test_measurement PRIVATE WITH_HOLES="$<TARGET_FILE:with_holes>")
target_link_options(test_measurement PRIVATE ${holes})
add_dependencies(test_measurement with_holes)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/measurement/open_call_test.cpp ${CMAKE_CURRENT_LIST_DIR}/measurement/call_durations_test.cpp PROPERTIES
  COMPILE_OPTIONS "-fno-omit-frame-pointer;-fno-optimize-sibling-calls;-Wno-clobbered" SKIP_PRECOMPILE_HEADERS ON)  # measured() reads its frame
