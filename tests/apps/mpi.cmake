# The MPI adapter by itself, on both MPIs: counts, bytes, communicators, peers; MPI loaded late
# and locally; beside another tool; preloaded where there is no MPI.
if(REFRAIN_SANITIZE)
  return()
endif()
set(mpi_apps ${CMAKE_CURRENT_LIST_DIR})
add_executable(mpi_late ${mpi_apps}/mpi_late.c)
target_link_libraries(mpi_late PRIVATE ${CMAKE_DL_LIBS})
foreach(mpi ${REFRAIN_MPIS})
  set(mpi_dir ${REFRAIN_BUILD}/tests/apps/${mpi})
  file(MAKE_DIRECTORY ${mpi_dir})
  add_executable(mpi_conformance_${mpi} ${mpi_apps}/mpi_conformance.c)
  target_link_libraries(mpi_conformance_${mpi} PRIVATE mpi_${mpi})
  target_compile_options(mpi_conformance_${mpi} PRIVATE -O1 -g -Wno-stringop-overflow -Wno-stringop-overread)

  add_library(mpi_plugin_${mpi} MODULE ${mpi_apps}/mpi_conformance.c)
  target_link_libraries(mpi_plugin_${mpi} PRIVATE mpi_${mpi})
  target_compile_definitions(mpi_plugin_${mpi} PRIVATE main=plugin_main)
  target_compile_options(mpi_plugin_${mpi} PRIVATE -O1 -g -Wno-stringop-overflow -Wno-stringop-overread)

  add_library(mpi_recorder_${mpi} SHARED ${mpi_apps}/mpi_recorder.cpp ${REFRAIN_SOURCE}/measurement/mpi_call.cpp)
  target_compile_options(mpi_recorder_${mpi} PRIVATE ${REFRAIN_RUNTIME_FLAGS})
  target_link_libraries(mpi_recorder_${mpi} PRIVATE refrain_adapter_${mpi} refrain_platform)
  target_link_options(mpi_recorder_${mpi} PRIVATE -nodefaultlibs -Wl,-z,defs)
  target_link_libraries(mpi_recorder_${mpi} PRIVATE -lc -lgcc)

  list(TRANSFORM REFRAIN_MPI_INCLUDES_${mpi} PREPEND -I OUTPUT_VARIABLE mpi_include_flags)
  file(WRITE ${mpi_dir}/only_mpi.c "#include <mpi.h>\n")
  add_custom_command(
    OUTPUT ${mpi_dir}/counter.c
    COMMAND ${CMAKE_C_COMPILER} -E ${mpi_include_flags} -o ${mpi_dir}/mpi.i ${mpi_dir}/only_mpi.c
    COMMAND Python3::Interpreter -B ${mpi_apps}/mpi_counter.py ${mpi_dir}/mpi.i ${mpi_dir}/counter.c
    DEPENDS ${mpi_apps}/mpi_counter.py
    VERBATIM)
  add_library(mpi_counter_${mpi} SHARED ${mpi_dir}/counter.c)
  target_link_libraries(mpi_counter_${mpi} PRIVATE mpi_${mpi})
  target_compile_options(mpi_counter_${mpi} PRIVATE -w)

  add_test(NAME apps.mpi_adapter.${mpi}
    COMMAND Python3::Interpreter -B ${mpi_apps}/mpi_adapter.py ${mpi} $<TARGET_FILE:mpi_conformance_${mpi}>
            $<TARGET_FILE:mpi_recorder_${mpi}> $<TARGET_FILE:mpi_counter_${mpi}> ${REFRAIN_MPIEXEC_${mpi}}
            $<TARGET_FILE:mpi_late> $<TARGET_FILE:mpi_plugin_${mpi}>)
  set_tests_properties(apps.mpi_adapter.${mpi} PROPERTIES TIMEOUT ${time_limit} COST 7 LABELS "apps;unsanitized")
  if(REFRAIN_HAS_FORTRAN_${mpi})
    refrain_fortran_programs(mpi_fortran_${mpi} ${mpi} ${mpi_apps}/mpi_fortran.F90 ${mpi_dir}/mpi_fortran_INTERFACE
      INTERFACES mpif_h use_mpi use_mpi_f08 OPTIONS -O1 -g -fallow-argument-mismatch -w)
    add_test(NAME apps.mpi_fortran.${mpi}
      COMMAND Python3::Interpreter -B ${mpi_apps}/mpi_fortran.py ${mpi} $<TARGET_FILE:mpi_recorder_${mpi}>
              ${REFRAIN_MPIEXEC_${mpi}} ${mpi_fortran_${mpi}_PROGRAMS})
    set_tests_properties(apps.mpi_fortran.${mpi} PROPERTIES TIMEOUT ${time_limit} COST 7 LABELS "apps;unsanitized")
  else()
    message(STATUS "tests: mpi_fortran is left out, there is no Fortran compiler for ${mpi}")
  endif()
  # Preloaded where there is no MPI, everything bound at once.
  add_test(NAME apps.mpi_absent.${mpi}
    COMMAND ${CMAKE_COMMAND} -E env LD_BIND_NOW=1 LD_PRELOAD=$<TARGET_FILE:mpi_recorder_${mpi}> /bin/true)
  set_tests_properties(apps.mpi_absent.${mpi} PROPERTIES LABELS "apps;unsanitized"
    FAIL_REGULAR_EXPRESSION "cannot be preloaded|undefined symbol")
endforeach()
