# Targets of the two halves.
#
# refrain_runtime_objects(NAME SOURCES...): an object library of the runtime half, which lives in somebody else's process:
# no exceptions, no RTTI, hidden symbols, initial-exec TLS, nothing of libstdc++ at run time.
# Programs of the offline half and tests may link these objects too.
set(REFRAIN_RUNTIME_FLAGS -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden
  -fvisibility-inlines-hidden -ftls-model=initial-exec -fno-stack-protector -fno-math-errno
  -ffunction-sections -fdata-sections)

function(refrain_runtime_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${REFRAIN_RUNTIME_FLAGS}>)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/platform/${REFRAIN_PLATFORM}/include)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# refrain_library(NAME SOURCES...): a static library of the offline half.
function(refrain_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/platform/${REFRAIN_PLATFORM}/include)
endfunction()

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
