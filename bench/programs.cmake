# Whole programs that the scripts of bench/ run with and without Refrain.
if(TARGET mpi_openmpi)
  foreach(name null_call requests soak finalize iterations table_shape cold one_of_each kernels mesh wait_methods yields)
    add_executable(bench_program_${name} programs/${name}.c)
    target_link_libraries(bench_program_${name} PRIVATE mpi_openmpi ${CMAKE_DL_LIBS})
    target_compile_options(bench_program_${name} PRIVATE -O2 -g -fomit-frame-pointer)
    target_include_directories(bench_program_${name} PRIVATE ${REFRAIN_SOURCE} ${REFRAIN_SOURCE}/adapters/user)
    set_target_properties(bench_program_${name} PROPERTIES OUTPUT_NAME ${name})
  endforeach()
  add_executable(bench_program_step programs/step.c)
  set_target_properties(bench_program_step PROPERTIES OUTPUT_NAME step)
  if(REFRAIN_HAS_FORTRAN_openmpi)
    refrain_fortran_programs(bench_program_null_call_fortran openmpi ${REFRAIN_SOURCE}/bench/programs/fortran_null_call.F90
      ${PROJECT_BINARY_DIR}/null_call_INTERFACE
      INTERFACES mpif_h use_mpi_f08 OPTIONS -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls)
  endif()
  add_library(bench_step_toggle MODULE programs/step_toggle.c)
  target_link_libraries(bench_step_toggle PRIVATE mpi_openmpi m)
  set_target_properties(bench_step_toggle PROPERTIES PREFIX "" OUTPUT_NAME step_toggle
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
