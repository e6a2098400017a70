# Marks in C, C++ and Fortran, built as users would: no link dependency on Refrain.
if(REFRAIN_SANITIZE)
  return()
endif()
set(marks_apps ${CMAKE_CURRENT_LIST_DIR})
set(marks_annotations ${REFRAIN_SOURCE}/adapters/user)

# marks_program(NAME SOURCE OPTIONS LIBRARIES...)
function(marks_program name source options)
  add_executable(${name} ${marks_apps}/${source})
  target_include_directories(${name} PRIVATE ${marks_annotations})
  target_compile_options(${name} PRIVATE -g -Wno-clobbered -Wno-infinite-recursion ${options})
  target_link_libraries(${name} PRIVATE Threads::Threads ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${REFRAIN_BUILD}/tests/apps
    C_STANDARD 17 C_EXTENSIONS ON POSITION_INDEPENDENT_CODE OFF)
endfunction()

marks_program(marks_serial marks.c -O2)
marks_program(iterations_serial iterations_serial.c -O2)
marks_program(marks_static marks.c -O2 -static)
marks_program(marks_no_pie marks.c "-O0;-fno-pie" -no-pie -Wl,-z,now)
marks_program(marks_scopes marks_scopes.cpp -O2)
marks_program(marks_scopes_plain marks_scopes.cpp -O0)
foreach(mpi ${REFRAIN_MPIS})
  marks_program(marks_${mpi} marks.c "-O2;-DWITH_MPI" mpi_${mpi})
  if(OpenMP_C_FOUND)
    target_link_libraries(marks_${mpi} PRIVATE OpenMP::OpenMP_C)
  endif()
endforeach()

if(REFRAIN_HAS_FORTRAN_openmpi)
  foreach(kind O0 O2 O2-flto O2-static-libgfortran)
    string(REGEX REPLACE "^(O.)-?(.*)$" "-\\1;-\\2" options ${kind})
    list(REMOVE_ITEM options -)
    set(directory ${REFRAIN_BUILD}/tests/apps/marks_fortran_${kind}.modules)
    set(program ${REFRAIN_BUILD}/tests/apps/marks_fortran_${kind})
    file(MAKE_DIRECTORY ${directory})
    add_custom_command(OUTPUT ${program}
      COMMAND ${REFRAIN_MPIFORT_openmpi} ${options} -g -Wall -J${directory} -I${marks_annotations}
              ${marks_annotations}/refrain/refrain.f90 ${marks_apps}/marks_fortran.F90 -o ${program}
      DEPENDS ${marks_apps}/marks_fortran.F90 ${marks_annotations}/refrain/refrain.f90
              ${marks_annotations}/refrain/refrain_fortran.h
      VERBATIM)
    list(APPEND marks_fortran_programs ${program})
  endforeach()
  add_custom_target(marks_fortran ALL DEPENDS ${marks_fortran_programs})
else()
  message(STATUS "tests: marks of Fortran are left out, there is no Fortran compiler for Open MPI")
endif()

app_test(marks SPLIT COST 25)
