# Time in which threads do not run, and why.
if(REFRAIN_SANITIZE)
  return()
endif()
marks_program(off_cpu off_cpu.c -O2)
foreach(mpi ${REFRAIN_MPIS})
  marks_program(off_cpu_${mpi} off_cpu.c "-O2;-DWITH_MPI" mpi_${mpi})
  marks_program(off_cpu_calls_${mpi} off_cpu_calls.c -O2 mpi_${mpi})
endforeach()

app_test(off_cpu)
