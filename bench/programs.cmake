# Whole programs that bench/*.sh and bench/whole_program.py run with and without Refrain.
if(TARGET mpi_openmpi)
  foreach(name null_call soak finalize iterations table_shape)
    add_executable(bench_program_${name} programs/${name}.c)
    target_link_libraries(bench_program_${name} PRIVATE mpi_openmpi)
    target_compile_options(bench_program_${name} PRIVATE -O2 -g -fomit-frame-pointer)
    target_include_directories(bench_program_${name} PRIVATE ${PROJECT_SOURCE_DIR}/adapters/user)
    set_target_properties(bench_program_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench)
  endforeach()
  add_library(bench_step_toggle MODULE programs/step_toggle.c)
  target_link_libraries(bench_step_toggle PRIVATE mpi_openmpi m)
  set_target_properties(bench_step_toggle PROPERTIES PREFIX "" OUTPUT_NAME step_toggle
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench)
endif()
