# refrain_fortran_programs(TARGET MPI SOURCE PATTERN INTERFACES NAME... OPTIONS OPTION...): a program of SOURCE for each of these
# interfaces of MPI (mpif_h, use_mpi, use_mpi_f08), of which a definition in large letters tells the source. PATTERN is the path of the
# program, with INTERFACE in it. MPI's own compiler wrapper builds them, since the project itself does not speak Fortran. Sets
# TARGET_PROGRAMS to their paths.
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
