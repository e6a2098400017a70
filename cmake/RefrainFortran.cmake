# refrain_fortran_programs(TARGET MPI SOURCE PATTERN INTERFACES NAME... OPTIONS OPTION...): builds a program from SOURCE
# for each of these MPI interfaces (mpif_h, use_mpi, use_mpi_f08). A definition, the interface's name in upper case,
# selects the interface in the source. PATTERN is the path of a program, with INTERFACE in place of the name. MPI's own
# compiler wrapper builds the programs, since the project itself does not enable Fortran. Sets TARGET_PROGRAMS to their
# paths.
function(refrain_fortran_programs target mpi source pattern)
  cmake_parse_arguments(PARSE_ARGV 4 wanted "" "" "INTERFACES;OPTIONS")
  set(programs)
  foreach(interface ${wanted_INTERFACES})
    string(TOUPPER ${interface} definition)
    string(REPLACE INTERFACE ${interface} program ${pattern})
    cmake_path(GET program PARENT_PATH directory)
    file(MAKE_DIRECTORY ${directory})
    add_custom_command(OUTPUT ${program}
      COMMAND ${REFRAIN_MPIFORT_${mpi}} -D${definition} ${wanted_OPTIONS} ${source} -o ${program}
      DEPENDS ${source}
      VERBATIM)
    list(APPEND programs ${program})
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${programs})
  set(${target}_PROGRAMS ${programs} PARENT_SCOPE)
endfunction()
