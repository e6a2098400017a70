# Whole programs that bench/*.sh and bench/whole_program.py run with and without Refrain.
if(TARGET mpi_openmpi)
  foreach(name null_call requests soak finalize iterations table_shape)
    add_executable(bench_program_${name} programs/${name}.c)
    target_link_libraries(bench_program_${name} PRIVATE mpi_openmpi)
    target_compile_options(bench_program_${name} PRIVATE -O2 -g -fomit-frame-pointer)
    target_include_directories(bench_program_${name} PRIVATE ${PROJECT_SOURCE_DIR}/adapters/user)
    set_target_properties(bench_program_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench)
  endforeach()
  # Fortran, which the project itself does not speak, through MPI's own compiler wrapper.
  if(REFRAIN_HAS_FORTRAN_openmpi)
    foreach(interface mpif_h use_mpi_f08)
      string(TOUPPER ${interface} definition)
      set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench/null_call_${interface})
      add_custom_command(OUTPUT ${program}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench
        COMMAND ${REFRAIN_MPIFORT_openmpi} -D${definition} -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
                ${PROJECT_SOURCE_DIR}/bench/programs/fortran_null_call.F90 -o ${program}
        DEPENDS ${PROJECT_SOURCE_DIR}/bench/programs/fortran_null_call.F90
        VERBATIM)
      list(APPEND fortran_programs ${program})
    endforeach()
    add_custom_target(bench_program_null_call_fortran ALL DEPENDS ${fortran_programs})
  endif()
  add_library(bench_step_toggle MODULE programs/step_toggle.c)
  target_link_libraries(bench_step_toggle PRIVATE mpi_openmpi m)
  set_target_properties(bench_step_toggle PROPERTIES PREFIX "" OUTPUT_NAME step_toggle
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench)
endif()
