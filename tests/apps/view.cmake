# The file of the explorer, and the explorer in browsers. The functions are those of programs.cmake.
if(REFRAIN_SANITIZE OR NOT TARGET mpi_openmpi)
  return()
endif()
app_program(view_names_openmpi view_names.c mpi_openmpi)
target_include_directories(view_names_openmpi PRIVATE ${REFRAIN_SOURCE}/adapters/user)
app_test(view BESIDE COST 21)
app_test(view_browser LONG)
