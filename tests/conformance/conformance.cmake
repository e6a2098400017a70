# Programs that call every MPI function that communicates, with their truth per call path, under `refrain run`.
if(REFRAIN_SANITIZE)
  return()
endif()
include(CheckCSourceCompiles)
set(conformance ${CMAKE_CURRENT_LIST_DIR})

# conformance_program(MPI NAME SOURCE DEFINITIONS...): what a call path shows must not be inlined or left by a jump.
function(conformance_program mpi name source)
  set(target conformance_${mpi}_${name})
  add_executable(${target} ${conformance}/${source}.c)
  target_link_libraries(${target} PRIVATE mpi_${mpi})
  target_include_directories(${target} PRIVATE ${conformance} ${REFRAIN_BUILD}/tests/conformance)
  target_compile_definitions(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE -O1 -g -fno-optimize-sibling-calls -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-conversion -Wno-sign-conversion -Wno-missing-field-initializers -Wno-maybe-uninitialized -Wno-unused-but-set-variable)
  set_target_properties(${target} PROPERTIES C_STANDARD 17 C_EXTENSIONS ON OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${REFRAIN_BUILD}/tests/conformance/${mpi})
endfunction()

file(MAKE_DIRECTORY ${REFRAIN_BUILD}/tests/conformance)
add_custom_command(OUTPUT ${REFRAIN_BUILD}/tests/conformance/large_counts.h
  COMMAND Python3::Interpreter -B ${conformance}/large_counts.py ${REFRAIN_SOURCE}/adapters/mpi/calls/functions.table
          ${REFRAIN_BUILD}/tests/conformance/large_counts.h
  DEPENDS ${conformance}/large_counts.py ${REFRAIN_SOURCE}/adapters/mpi/calls/generate.py ${REFRAIN_SOURCE}/adapters/mpi/calls/functions.table
  VERBATIM)
add_custom_target(conformance_large_counts DEPENDS ${REFRAIN_BUILD}/tests/conformance/large_counts.h)

foreach(mpi ${REFRAIN_MPIS})
  foreach(program point_to_point requests persistent collectives neighborhoods one_sided files communicators datatypes
          errors large uninitialized)
    conformance_program(${mpi} ${program} ${program})
  endforeach()
  set(CMAKE_REQUIRED_LIBRARIES mpi_${mpi})
  check_c_source_compiles("#include <mpi.h>
    #if MPI_VERSION < 4
    #error no functions with large counts
    #endif
    int main(void) { return !MPI_Send_c; }" REFRAIN_LARGE_COUNTS_${mpi})
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(REFRAIN_LARGE_COUNTS_${mpi})
    foreach(program point_to_point persistent collectives neighborhoods one_sided files datatypes)
      conformance_program(${mpi} ${program}_c ${program} LARGE_COUNTS)
      add_dependencies(conformance_${mpi}_${program}_c conformance_large_counts)
    endforeach()
    conformance_program(${mpi} sessions sessions) # MPI 4, too
  endif()

  # Counts are compared and no times, so they run beside others; Open MPI's take longest of all such tests.
  foreach(length "" .full)
    add_test(NAME conformance.${mpi}${length} COMMAND Python3::Interpreter -B ${conformance}/conformance.py -v)
    set_tests_properties(conformance.${mpi}${length} PROPERTIES TIMEOUT ${time_limit} COST 50 LABELS "apps;unsanitized;short"
      ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD};FULL_TESTS=0;CONFORMANCE_MPI=${mpi};MPIEXEC=${REFRAIN_MPIEXEC_${mpi}}")
  endforeach()
  set_tests_properties(conformance.${mpi}.full PROPERTIES TIMEOUT 7200 LABELS "apps;unsanitized;long"
    ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD};FULL_TESTS=1;CONFORMANCE_MPI=${mpi};MPIEXEC=${REFRAIN_MPIEXEC_${mpi}}")
endforeach()
