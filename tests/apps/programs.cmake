# Whole-program tests: real programs with planted truth and abuse, with and without Refrain (Python, standard library).
#
# Every test has a long form too, with the label "long" (scripts/test --full).
if(REFRAIN_SANITIZE)
  message(STATUS "tests/apps: left out, a preloaded runtime cannot be built with sanitizers")
  return()
endif()
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
find_package(OpenMP QUIET COMPONENTS C)
set(apps ${CMAKE_CURRENT_LIST_DIR})
set(app_dir ${PROJECT_BINARY_DIR}/tests/apps)

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
app_program(faults_signals faults_signals.c)
app_program(faults_jit faults_jit.c)
app_program(faults_jumps faults_jumps.cpp)
target_compile_options(faults_jumps PRIVATE -Wno-clobbered)
app_program(faults_handler_calls faults_handler_calls.c ${CMAKE_DL_LIBS})
set_target_properties(faults_handler_calls PROPERTIES ENABLE_EXPORTS ON)
add_library(faults_plugin SHARED ${apps}/faults_plugin.c)
set_target_properties(faults_plugin PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir})

# app_test(NAME TIMEOUT): runs NAME.py. Times are compared with truth, so nothing else runs meanwhile.
function(app_test name timeout)
  add_test(NAME apps.${name} COMMAND Python3::Interpreter -B ${apps}/${name}.py -v)
  add_test(NAME apps.${name}.full COMMAND Python3::Interpreter -B ${apps}/${name}.py -v)
  set_tests_properties(apps.${name} PROPERTIES TIMEOUT ${timeout} LABELS "apps;unsanitized"
    ENVIRONMENT "BUILD_DIR=${PROJECT_BINARY_DIR};FULL_TESTS=0")
  set_tests_properties(apps.${name}.full PROPERTIES TIMEOUT 7200 LABELS "apps;unsanitized;long"
    ENVIRONMENT "BUILD_DIR=${PROJECT_BINARY_DIR};FULL_TESTS=1")
  set_tests_properties(apps.${name} apps.${name}.full PROPERTIES RUN_SERIAL ON)
endfunction()

app_test(faults_programs 300)

if(TARGET mpi_openmpi)
  app_program(truth_paths truth_paths.c mpi_openmpi)
  app_program(truth_threads truth_threads.c mpi_openmpi)
  app_program(truth_cheap_calls truth_cheap_calls.c mpi_openmpi)
  if(OpenMP_C_FOUND)
    app_program(truth_openmp truth_openmp.c mpi_openmpi OpenMP::OpenMP_C)
  endif()
  add_library(truth_counter SHARED ${apps}/truth_counter.c)
  target_link_libraries(truth_counter PRIVATE mpi_openmpi)
  set_target_properties(truth_counter PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir})

  app_program(iterations_loop iterations_loop.c mpi_openmpi)
  target_include_directories(iterations_loop PRIVATE ${PROJECT_SOURCE_DIR}/adapters/user)
  app_program(iterations_kinds iterations_kinds.c mpi_openmpi)
  target_include_directories(iterations_kinds PRIVATE ${PROJECT_SOURCE_DIR}/adapters/user)
  app_program(iterations_threads iterations_threads.c mpi_openmpi)
  target_include_directories(iterations_threads PRIVATE ${PROJECT_SOURCE_DIR}/adapters/user)
  app_test(iterations_programs 300)

  app_program(metrics_pages metrics_pages.c mpi_openmpi)
  target_include_directories(metrics_pages PRIVATE ${PROJECT_SOURCE_DIR}/adapters/user)
  if(TARGET mpi_mpich)
    app_program(metrics_pages_mpich metrics_pages.c mpi_mpich)
    target_include_directories(metrics_pages_mpich PRIVATE ${PROJECT_SOURCE_DIR}/adapters/user)
  endif()
  add_library(metrics_papi SHARED ${apps}/metrics_papi.c)
  set_target_properties(metrics_papi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir}/stand-in OUTPUT_NAME papi VERSION 7.0 SOVERSION 7.0)
  target_include_directories(metrics_papi PRIVATE ${REFRAIN_PAPI_INCLUDE})
  add_dependencies(metrics_pages metrics_papi)
  app_test(metrics_programs 300)

  if(OpenMP_C_FOUND)
    foreach(mpi ${REFRAIN_MPIS})
      app_program(followers_${mpi} followers.c mpi_${mpi} OpenMP::OpenMP_C)
      target_include_directories(followers_${mpi} PRIVATE ${PROJECT_SOURCE_DIR}/adapters/user)
    endforeach()
    app_test(followers 300)
  endif()

  app_test(truth_sampling 600)
  app_test(truth_programs 300)
  app_test(examples_exact 300)

  # This one is made for sanitizers, and cheap elsewhere.
  add_test(NAME apps.instrumented COMMAND Python3::Interpreter -B ${apps}/instrumented.py -v)
  # The thread sanitizer holds signals back and is not ready when preloaded code starts.
  set_tests_properties(apps.instrumented PROPERTIES TIMEOUT 600 PROCESSORS 2 LABELS "apps;no-tsan"
    ENVIRONMENT "BUILD_DIR=${PROJECT_BINARY_DIR}")
endif()
