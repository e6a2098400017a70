# Time in which threads do not run, and why.
if(REFRAIN_SANITIZE)
  return()
endif()
marks_program(off_cpu off_cpu.c -O2)
foreach(mpi ${REFRAIN_MPIS})
  marks_program(off_cpu_${mpi} off_cpu.c "-O2;-DWITH_MPI" mpi_${mpi})
endforeach()

add_test(NAME apps.off_cpu COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/off_cpu.py -v)
set_tests_properties(apps.off_cpu PROPERTIES TIMEOUT ${time_limit} RUN_SERIAL ON LABELS "apps;unsanitized"
  ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD}")
