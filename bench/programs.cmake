# Whole programs that bench/*.sh and bench/whole_program.py run with and without Refrain.
if(TARGET mpi_openmpi)
  foreach(name null_call soak finalize)
    add_executable(bench_program_${name} programs/${name}.c)
    target_link_libraries(bench_program_${name} PRIVATE mpi_openmpi)
    target_compile_options(bench_program_${name} PRIVATE -O2 -g -fomit-frame-pointer)
    set_target_properties(bench_program_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench)
  endforeach()
endif()
