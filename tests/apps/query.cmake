# SQL over experiments, and experiments that are one file. The functions are those of programs.cmake.
if(REFRAIN_SANITIZE OR NOT TARGET mpi_openmpi)
  return()
endif()
app_test(query BESIDE COST 14)
app_test(pack BESIDE COST 10)
