# Programs in Fortran per class of MPI functions, with mpif.h, the modules mpi and mpi_f08, on both MPIs, under `refrain run`.
if(REFRAIN_SANITIZE)
  return()
endif()
set(conformance_dir ${CMAKE_CURRENT_LIST_DIR})
set(conformance_programs point_to_point requests collectives one_sided files communicators objects processes)
add_library(stand_in_library SHARED ${conformance_dir}/stand_in.c)
target_compile_definitions(stand_in_library PRIVATE LIBRARY)
add_executable(stand_in ${conformance_dir}/stand_in.c)
foreach(mpi ${REFRAIN_MPIS})
  # Names that are not MPI's in a program.
  add_library(foreign_names_library_${mpi} SHARED ${conformance_dir}/foreign_names.c)
  target_compile_definitions(foreign_names_library_${mpi} PRIVATE LIBRARY)
  add_executable(foreign_names_${mpi} ${conformance_dir}/foreign_names.c)
  target_link_libraries(foreign_names_${mpi} PRIVATE foreign_names_library_${mpi} mpi_${mpi})
  add_test(NAME conformance_fortran.foreign_names.${mpi}
    COMMAND Python3::Interpreter -B ${conformance_dir}/foreign_names.py ${REFRAIN_MPIEXEC_${mpi}}
            $<TARGET_FILE:foreign_names_${mpi}> ${mpi} $<TARGET_FILE:stand_in> $<TARGET_FILE:stand_in_library>)
  set_tests_properties(conformance_fortran.foreign_names.${mpi} PROPERTIES TIMEOUT ${time_limit} LABELS "apps;unsanitized"
    ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD}")
  if(NOT REFRAIN_HAS_FORTRAN_${mpi})
    message(STATUS "tests: conformance_fortran is left out, there is no Fortran compiler for ${mpi}")
    continue()
  endif()
  set(built)
  foreach(interface mpif_h use_mpi use_mpi_f08)
    set(directory ${REFRAIN_BUILD}/tests/conformance_fortran/${mpi}/${interface})
    file(MAKE_DIRECTORY ${directory})
    string(TOUPPER ${interface} definition)
    set(compile ${REFRAIN_MPIFORT_${mpi}} -D${definition} $<$<STREQUAL:${mpi},openmpi>:-DUSE_EXTENSION> -O1 -g -fno-inline
        -fallow-argument-mismatch -w -I${conformance_dir} -J${directory})
    add_custom_command(OUTPUT ${directory}/truth.o
      COMMAND ${compile} -c ${conformance_dir}/truth.F90 -o ${directory}/truth.o
      DEPENDS ${conformance_dir}/truth.F90
      COMMAND_EXPAND_LISTS VERBATIM)
    foreach(program ${conformance_programs})
      add_custom_command(OUTPUT ${directory}/${program}
        COMMAND ${compile} ${conformance_dir}/${program}.F90 ${directory}/truth.o -o ${directory}/${program}
        DEPENDS ${conformance_dir}/${program}.F90 ${conformance_dir}/interface.inc ${conformance_dir}/preamble.inc
          ${directory}/truth.o
        COMMAND_EXPAND_LISTS VERBATIM)
      list(APPEND built ${directory}/${program})
    endforeach()
    string(REPLACE ";" "," program_list "${conformance_programs}")
    add_test(NAME conformance_fortran.${interface}.${mpi}
      COMMAND Python3::Interpreter -B ${conformance_dir}/conformance_fortran.py ${mpi} ${REFRAIN_MPIEXEC_${mpi}}
              ${program_list} ${directory})
    set_tests_properties(conformance_fortran.${interface}.${mpi} PROPERTIES TIMEOUT ${time_limit} COST 7 LABELS "apps;unsanitized"
      ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD}")
  endforeach()
  # MPI's Fortran layer linked into the program, where it can be.
  find_library(static_fortran_${mpi} libmpichfort.a NO_CACHE)
  if(mpi STREQUAL mpich AND static_fortran_${mpi})
    set(directory ${REFRAIN_BUILD}/tests/conformance_fortran/${mpi}/use_mpi_f08)
    set(linked ${REFRAIN_BUILD}/tests/conformance_fortran/${mpi}/linked)
    file(MAKE_DIRECTORY ${linked})
    add_custom_command(OUTPUT ${linked}/point_to_point
      COMMAND ${REFRAIN_MPIFORT_${mpi}} -DUSE_MPI_F08 -O1 -g -fno-inline -w -I${conformance_dir} -J${directory}
              ${conformance_dir}/point_to_point.F90 ${directory}/truth.o -Wl,--as-needed ${static_fortran_${mpi}}
              -o ${linked}/point_to_point
      DEPENDS ${conformance_dir}/point_to_point.F90 ${conformance_dir}/interface.inc ${conformance_dir}/preamble.inc
          ${directory}/truth.o
      VERBATIM)
    list(APPEND built ${linked}/point_to_point)
    add_test(NAME conformance_fortran.linked.${mpi}
      COMMAND Python3::Interpreter -B ${conformance_dir}/conformance_fortran.py ${mpi} ${REFRAIN_MPIEXEC_${mpi}}
              point_to_point ${linked})
    set_tests_properties(conformance_fortran.linked.${mpi} PROPERTIES TIMEOUT ${time_limit} COST 7 LABELS "apps;unsanitized"
      ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD}")
  endif()
  add_custom_target(conformance_fortran_${mpi} ALL DEPENDS ${built})
endforeach()
