# Whole programs that use MPI in their own ways, on both MPIs, under `refrain run`: MPI_Pcontrol, MPI loaded late, other
# tools, many threads. The functions are those of programs.cmake.
if(REFRAIN_SANITIZE OR NOT REFRAIN_MPIS)
  return()
endif()

foreach(mpi ${REFRAIN_MPIS})
  app_program(mpi_control_${mpi} mpi_control.c mpi_${mpi})
  target_include_directories(mpi_control_${mpi} PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  target_compile_options(mpi_control_${mpi} PRIVATE -Wno-stringop-overflow)
  if(REFRAIN_HAS_FORTRAN_${mpi})
    refrain_fortran_programs(mpi_control_fortran_${mpi} ${mpi} ${apps}/mpi_control.F90 ${app_dir}/mpi_control_INTERFACE_${mpi}
      INTERFACES mpif_h use_mpi use_mpi_f08 OPTIONS -O1 -g -fallow-argument-mismatch -w)
  endif()
endforeach()
app_test(mpi_control)

foreach(mpi ${REFRAIN_MPIS})
  app_program(mpi_windows_${mpi} mpi_windows.c mpi_${mpi})
  app_program(mpi_for_ever_${mpi} mpi_for_ever.c mpi_${mpi})
endforeach()
app_test(mpi_definitions)

# Calls that are left by a jump: fault 20.
foreach(mpi ${REFRAIN_MPIS})
  app_program(abandoned_calls_${mpi} abandoned_calls.cpp mpi_${mpi})
  target_include_directories(abandoned_calls_${mpi} PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  target_compile_options(abandoned_calls_${mpi} PRIVATE -Wno-clobbered)
endforeach()
app_test(abandoned_calls LONG)

foreach(mpi ${REFRAIN_MPIS})
  app_program(short_threads_${mpi} short_threads.c mpi_${mpi})
endforeach()
app_test(short_threads LONG)

# Other tools, in every place where they can stand.
foreach(mpi ${REFRAIN_MPIS})
  app_program(mpi_traffic_${mpi} mpi_traffic.c mpi_${mpi})
  foreach(kind "" _init _fortran)
    string(TOUPPER "ONLY${kind}" definition)
    add_library(mpi_tool${kind}_${mpi} SHARED ${apps}/mpi_tool.c)
    target_compile_definitions(mpi_tool${kind}_${mpi} PRIVATE ${definition})
    target_link_libraries(mpi_tool${kind}_${mpi} PRIVATE mpi_${mpi} ${CMAKE_DL_LIBS})
    set_target_properties(mpi_tool${kind}_${mpi} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir})
  endforeach()
  # Its pmpi_ names are those of MPI's Fortran library, which is in the program.
  target_link_options(mpi_tool_fortran_${mpi} PRIVATE -Wl,-z,lazy)
  app_program(mpi_traffic_tool_${mpi} mpi_traffic.c mpi_tool_${mpi} mpi_${mpi})
  app_program(mpi_traffic_tool_refrain_${mpi} mpi_traffic.c mpi_tool_${mpi} refrain-${mpi} mpi_${mpi})
  foreach(program mpi_traffic_tool_${mpi} mpi_traffic_tool_refrain_${mpi})
    target_link_options(${program} PRIVATE -Wl,--no-as-needed)
  endforeach()
  app_program(mpi_traffic_own_tool_${mpi} mpi_traffic.c mpi_${mpi})
  target_sources(mpi_traffic_own_tool_${mpi} PRIVATE ${apps}/mpi_tool.c)
  if(REFRAIN_HAS_FORTRAN_${mpi})
    add_custom_command(OUTPUT ${app_dir}/mpi_traffic_fortran_${mpi}
      COMMAND ${REFRAIN_MPIFORT_${mpi}} -O1 -g -fallow-argument-mismatch -w ${apps}/mpi_traffic.F90
              -o ${app_dir}/mpi_traffic_fortran_${mpi}
      DEPENDS ${apps}/mpi_traffic.F90
      VERBATIM)
    add_custom_target(mpi_traffic_fortran_program_${mpi} ALL DEPENDS ${app_dir}/mpi_traffic_fortran_${mpi})
  endif()

  add_library(mpi_late_plugin_${mpi} MODULE ${apps}/mpi_traffic.c)
  target_link_libraries(mpi_late_plugin_${mpi} PRIVATE mpi_${mpi})
  target_compile_definitions(mpi_late_plugin_${mpi} PRIVATE main=plugin_main)
  target_compile_options(mpi_late_plugin_${mpi} PRIVATE -O2 -g)
  set_target_properties(mpi_late_plugin_${mpi} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir} PREFIX "")

  app_program(mpi_threads_${mpi} mpi_threads.c mpi_${mpi})
  app_program(mpi_uninitialized_${mpi} mpi_uninitialized.c mpi_${mpi})
endforeach()
set_target_properties(mpi_late PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${app_dir})
target_compile_options(mpi_late PRIVATE -O2 -g)
app_test(mpi_stacking LONG)
app_test(mpi_late LONG)
app_test(mpi_threads)
if(TARGET truth_counter)
  app_test(debian_programs)
endif()

# The same results in every language, and exceptions.
add_library(throwing SHARED ${apps}/throwing.cpp)
target_link_libraries(throwing PRIVATE ${CMAKE_DL_LIBS})
target_compile_options(throwing PRIVATE -O1 -g)
set_target_properties(throwing PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir})
file(WRITE ${app_dir}/throwing_main.cpp "#include \"${apps}/throwing_main.c\"\n")
foreach(mpi ${REFRAIN_MPIS})
  app_program(same_results_c_${mpi} same_results.c mpi_${mpi} m)
  target_compile_options(same_results_c_${mpi} PRIVATE -frounding-math)
  app_program(same_results_cxx_${mpi} same_results.cpp mpi_${mpi})
  app_program(throwing_c_${mpi} throwing_main.c mpi_${mpi} throwing)
  add_executable(throwing_cxx_${mpi} ${app_dir}/throwing_main.cpp)
  target_link_libraries(throwing_cxx_${mpi} PRIVATE mpi_${mpi} throwing)
  set_target_properties(throwing_cxx_${mpi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${app_dir})
  if(REFRAIN_HAS_FORTRAN_${mpi})
    foreach(program same_results throwing_main)
      string(REPLACE "_main" "" name ${program})
      set(library)
      if(name STREQUAL throwing)
        set(library ${app_dir}/libthrowing.so -Wl,-rpath,${app_dir})
      endif()
      add_custom_command(OUTPUT ${app_dir}/${name}_fortran_${mpi}
        COMMAND ${REFRAIN_MPIFORT_${mpi}} -O1 -g -fallow-argument-mismatch -w ${apps}/${program}.F90
                -o ${app_dir}/${name}_fortran_${mpi} ${library}
        DEPENDS ${apps}/${program}.F90 throwing
        VERBATIM)
      add_custom_target(${name}_fortran_program_${mpi} ALL DEPENDS ${app_dir}/${name}_fortran_${mpi})
    endforeach()
  endif()
endforeach()
app_test(same_results LONG)

# How programs are linked with Refrain.
app_test(link)

# What is handed over of calls: a consumer in a runtime of its own.
foreach(mpi ${REFRAIN_MPIS})
  app_program(call_book_${mpi} call_book.c mpi_${mpi})
  target_compile_options(call_book_${mpi} PRIVATE -Wno-stringop-overflow)
  refrain_runtime_library(call_book_runtime_${mpi} refrain_adapter_${mpi})
  target_sources(call_book_runtime_${mpi} PRIVATE ${apps}/call_book_consumer.cpp)
  target_compile_options(call_book_runtime_${mpi} PRIVATE ${REFRAIN_RUNTIME_FLAGS})
endforeach()
app_test(call_book)

# What events say of a program.
foreach(mpi ${REFRAIN_MPIS})
  app_program(events_few_${mpi} events_few.c mpi_${mpi})
  app_program(events_messages_${mpi} events_messages.c mpi_${mpi})
  target_include_directories(events_messages_${mpi} PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  target_compile_options(events_messages_${mpi} PRIVATE -Wno-stringop-overflow)
  app_program(events_matched_${mpi} events_matched.c mpi_${mpi})
  target_compile_options(events_matched_${mpi} PRIVATE -Wno-stringop-overflow)
  app_program(events_stretches_${mpi} events_stretches.c mpi_${mpi})
  target_include_directories(events_stretches_${mpi} PRIVATE ${REFRAIN_SOURCE}/adapters/user)
  add_library(quiet_counter_${mpi} SHARED ${apps}/quiet_counter.c)
  target_link_libraries(quiet_counter_${mpi} PRIVATE mpi_${mpi} ${CMAKE_DL_LIBS})
  set_target_properties(quiet_counter_${mpi} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${app_dir})
  app_program(quiet_${mpi} quiet.c quiet_counter_${mpi} mpi_${mpi})
  target_include_directories(quiet_${mpi} PRIVATE ${REFRAIN_SOURCE}/adapters/user)
endforeach()
app_test(events)
app_test(events_messages)
app_test(events_matched)
app_test(quiet)
app_test(events_archives)
