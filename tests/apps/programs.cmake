# Whole-program tests: real programs with planted truth and abuse, with and without Refrain (Python, standard library).
#
# Every test has a short form (label "short") and a long one (label "long", scripts/test --full, which leaves the short ones
# out). What is here `LONG` has no short form: it takes long for what other tests of the same part do not find.
if(REFRAIN_SANITIZE)
  message(STATUS "tests/apps: left out, a preloaded runtime cannot be built with sanitizers")
  return()
endif()
set(apps ${CMAKE_CURRENT_LIST_DIR})
set(app_dir ${REFRAIN_BUILD}/tests/apps)

# app_program(NAME SOURCE LIBRARIES...): an ordinary program as a user would build it.
function(app_program name source)
  add_executable(${name} ${apps}/${source})
  target_compile_options(${name} PRIVATE -O2 -g)
  target_link_libraries(${name} PRIVATE Threads::Threads ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${app_dir} C_STANDARD 17 C_EXTENSIONS ON)
endfunction()

app_program(truth_no_mpi truth_no_mpi.c)
app_program(peak_memory peak_memory.c)
app_program(faults_sleep faults_sleep.c)
# Which fault of the list each covers: 14 (the program replaces, blocks, ignores or waits for our signal).
app_program(faults_signals faults_signals.c)
app_program(faults_signal_sets faults_signal_sets.c)
# 15 (small stacks), 16 (the program's own handler of stack overflows), 39 (return addresses stay what they were).
app_program(faults_stacks faults_stacks.c)
target_compile_options(faults_stacks PRIVATE -Wno-infinite-recursion -fcf-protection=full)
# 20 and 21 (jumps, fibers, coroutines; code without tables).
app_program(faults_jit faults_jit.c)
app_program(faults_jumps faults_jumps.cpp)
target_compile_options(faults_jumps PRIVATE -Wno-clobbered)
app_program(faults_handler_calls faults_handler_calls.c ${CMAKE_DL_LIBS})
set_target_properties(faults_handler_calls PROPERTIES ENABLE_EXPORTS ON)
add_library(faults_plugin SHARED ${apps}/faults_plugin.c)
set_target_properties(faults_plugin PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir})

# app_test(NAME [LONG] [BESIDE]): runs NAME.py. Times are compared with truth, so nothing else runs meanwhile, unless it may run
# BESIDE others.
function(app_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "LONG;BESIDE" "" "")
  set(serial ON)
  if(test_BESIDE)
    set(serial OFF)
  endif()
  if(NOT test_LONG)
    add_test(NAME apps.${name} COMMAND Python3::Interpreter -B ${apps}/${name}.py -v)
    set_tests_properties(apps.${name} PROPERTIES TIMEOUT ${time_limit} LABELS "apps;unsanitized;short" RUN_SERIAL ${serial}
      ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD};FULL_TESTS=0")
  endif()
  add_test(NAME apps.${name}.full COMMAND Python3::Interpreter -B ${apps}/${name}.py -v)
  set_tests_properties(apps.${name}.full PROPERTIES TIMEOUT 7200 LABELS "apps;unsanitized;long" RUN_SERIAL ${serial}
    ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD};FULL_TESTS=1")
endfunction()

app_test(faults_programs)
app_test(faults_own_signal LONG)

# Loads and unloads: faults 3 and 13 of docs/faults.md.
app_program(modules_for_ever modules_for_ever.c ${CMAKE_DL_LIBS})
target_include_directories(modules_for_ever PRIVATE ${REFRAIN_SOURCE}/adapters/user)
foreach(which first second nameless)
  add_library(modules_${which} SHARED ${apps}/modules_plugin.c)
  target_include_directories(modules_${which} PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  target_compile_options(modules_${which} PRIVATE -O2 -g)
  target_compile_definitions(modules_${which} PRIVATE INNER=${which}_inner REGION="in ${which}")
  target_link_options(modules_${which} PRIVATE -Wl,--build-id=$<IF:$<STREQUAL:${which},nameless>,none,sha1>)
  set_target_properties(modules_${which} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir} C_STANDARD 17 C_EXTENSIONS ON)
  add_dependencies(modules_for_ever modules_${which})
endforeach()
app_test(modules_for_ever)

app_program(sampling_source sampling_source.c)
app_test(sampling_source LONG)

# How programs end, and what they start.
add_library(endings_late SHARED ${apps}/endings_late.c)
set_target_properties(endings_late PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir})
foreach(variant serial ${REFRAIN_MPIS})
  app_program(endings_${variant} endings.c endings_late)
  target_sources(endings_${variant} PRIVATE ${apps}/endings_throw.cpp)
  app_program(processes_${variant} processes.c ${CMAKE_DL_LIBS})
  if(NOT variant STREQUAL serial)
    foreach(program endings processes)
      target_link_libraries(${program}_${variant} PRIVATE mpi_${variant})
      target_compile_definitions(${program}_${variant} PRIVATE WITH_MPI)
    endforeach()
  endif()
  target_compile_options(endings_${variant} PRIVATE -Wno-infinite-recursion -Wno-null-dereference -fno-delete-null-pointer-checks)
endforeach()
app_test(endings LONG)
app_test(processes LONG)

if(TARGET mpi_openmpi)
  app_program(truth_paths truth_paths.c mpi_openmpi)
  app_program(truth_threads truth_threads.c mpi_openmpi)
  app_program(truth_cheap_calls truth_cheap_calls.c mpi_openmpi)
  app_program(truth_own_time truth_own_time.c mpi_openmpi)
  target_include_directories(truth_own_time PRIVATE ${REFRAIN_SOURCE} ${REFRAIN_SOURCE}/adapters/user)
  target_link_libraries(truth_own_time PRIVATE ${CMAKE_DL_LIBS})
  if(OpenMP_C_FOUND)
    app_program(truth_openmp truth_openmp.c mpi_openmpi OpenMP::OpenMP_C)
  endif()
  add_library(truth_counter SHARED ${apps}/truth_counter.c)
  target_link_libraries(truth_counter PRIVATE mpi_openmpi)
  set_target_properties(truth_counter PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir})

  app_program(iterations_loop iterations_loop.c mpi_openmpi)
  app_program(events_clocks events_clocks.c mpi_openmpi)
  app_program(bend_clock bend_clock.cpp refrain_experiment refrain_events)
  target_include_directories(iterations_loop PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  app_program(iterations_kinds iterations_kinds.c mpi_openmpi)
  target_include_directories(iterations_kinds PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  app_program(iterations_threads iterations_threads.c mpi_openmpi)
  target_include_directories(iterations_threads PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  if(TARGET mpi_mpich)
    app_program(sessions sessions.c mpi_mpich)
  endif()
  foreach(mpi ${REFRAIN_MPIS})
    app_program(iterations_requests_${mpi} iterations_requests.c mpi_${mpi})
    target_include_directories(iterations_requests_${mpi} PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  endforeach()
  app_test(iterations_programs)
  # Faults 12 and 40 of docs/faults.md.
  app_program(soak soak.c mpi_openmpi)
  target_include_directories(soak PRIVATE ${REFRAIN_SOURCE} ${REFRAIN_SOURCE}/adapters/user)
  app_test(soak)
  app_program(overhead overhead.c mpi_openmpi)
  add_test(NAME apps.overhead COMMAND Python3::Interpreter -B ${apps}/overhead.py -v)
  set_tests_properties(apps.overhead PROPERTIES TIMEOUT 3600 LABELS "apps;unsanitized;long" RUN_SERIAL ON
    ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD}")

  app_program(iterations_inlined iterations_inlined.c mpi_openmpi)
  app_program(iterations_inlined_stripped iterations_inlined.c mpi_openmpi)
  target_compile_options(iterations_inlined_stripped PRIVATE -g0)
  app_test(iterations_inlined)

  app_program(metrics_pages metrics_pages.c mpi_openmpi)
  target_include_directories(metrics_pages PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  if(TARGET mpi_mpich)
    app_program(metrics_pages_mpich metrics_pages.c mpi_mpich)
    target_include_directories(metrics_pages_mpich PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  endif()
  add_library(metrics_papi SHARED ${apps}/metrics_papi.c)
  set_target_properties(metrics_papi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir}/stand-in OUTPUT_NAME papi VERSION 7.0 SOVERSION 7.0)
  target_include_directories(metrics_papi PRIVATE ${REFRAIN_PAPI_INCLUDE})
  add_dependencies(metrics_pages metrics_papi)
  app_test(metrics_programs LONG)

  if(OpenMP_C_FOUND)
    foreach(mpi ${REFRAIN_MPIS})
      app_program(followers_${mpi} followers.c mpi_${mpi} OpenMP::OpenMP_C)
      target_include_directories(followers_${mpi} PRIVATE ${REFRAIN_SOURCE}/adapters/user)
    endforeach()
    app_test(followers LONG)
  endif()

  app_test(own_time)
  app_test(truth_sampling LONG)
  app_test(truth_programs)
  app_test(examples_exact)

  # This one is made for sanitizers, and cheap elsewhere.
  add_test(NAME apps.instrumented COMMAND Python3::Interpreter -B ${apps}/instrumented.py -v)
  # The thread sanitizer holds signals back and is not ready when preloaded code starts.
  set_tests_properties(apps.instrumented PROPERTIES TIMEOUT ${time_limit} PROCESSORS 2 LABELS "apps;no-tsan"
    ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD}")
endif()
