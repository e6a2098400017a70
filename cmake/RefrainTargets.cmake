# Targets of the two halves.
#
# refrain_runtime_objects(NAME SOURCES...): an object library of the runtime half, which lives in the process of another
# program:
# no exceptions, no RTTI, hidden symbols, initial-exec TLS, nothing of libstdc++ at run time.
# Programs of the offline half and tests may link these objects too.
set(REFRAIN_RUNTIME_FLAGS -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden
  -fvisibility-inlines-hidden -ftls-model=initial-exec -fno-stack-protector -fno-math-errno
  -ffunction-sections -fdata-sections)
# The floating-point environment belongs to the program (platform/floating_point.hpp): the x87 part is left alone.
set(REFRAIN_NO_X87 -mno-80387)
list(APPEND REFRAIN_RUNTIME_FLAGS ${REFRAIN_NO_X87})
# GCC joins two stores of 8 bytes to one of a vector (SLP). A load that soon follows then waits for the store instead of
# having its value forwarded: in the record of a call that costs more than it saves, as measured.
list(APPEND REFRAIN_RUNTIME_FLAGS -fno-tree-slp-vectorize)
# GCC clears and copies objects of 64 to 256 bytes with string instructions, which take some 30 cycles to start. Event
# records are such objects.
include(CheckCXXCompilerFlag)
set(REFRAIN_STORE_FLAGS)
foreach(operation memset memcpy)
  set(flag -m${operation}-strategy=vector_loop:512:noalign,libcall:-1:noalign)
  check_cxx_compiler_flag(${flag} REFRAIN_HAS_${operation}_STRATEGY)
  if(REFRAIN_HAS_${operation}_STRATEGY)
    list(APPEND REFRAIN_STORE_FLAGS ${flag})
  endif()
endforeach()
list(APPEND REFRAIN_RUNTIME_FLAGS ${REFRAIN_STORE_FLAGS})

# refrain_precompile(TARGET HEADERS...): parses these C++ headers once for the target, and for others that have the same
# compiler options and say REUSE_FROM. No source relies on it: sanitizer builds do without
# (CMAKE_DISABLE_PRECOMPILE_HEADERS).
set(REFRAIN_RUNTIME_HEADERS algorithm atomic cstddef cstdint cstring span string_view)
set(REFRAIN_OFFLINE_HEADERS algorithm cmath cstdint cstring filesystem functional map memory optional span string string_view vector
  fmt/format.h)
function(refrain_precompile target)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>" OUTPUT_VARIABLE headers)
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# Compiles several sources of a target at a time, so that what they include is parsed and what they use is instantiated
# only once: this halves the time for the offline half. REFRAIN_UNITY=OFF compiles each source by itself, which is
# faster for work on one of them.
option(REFRAIN_UNITY "Compile sources of a library together" ON)
function(refrain_unify target at_a_time)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${REFRAIN_UNITY} UNITY_BUILD_BATCH_SIZE ${at_a_time} UNITY_BUILD_UNIQUE_ID REFRAIN_UNITY_ID)
endfunction()

function(refrain_runtime_objects name)
  add_library(${name} OBJECT ${ARGN})
  list(LENGTH ARGN sources)
  if(sources GREATER 2)
    refrain_precompile(${name} ${REFRAIN_RUNTIME_HEADERS})
  endif()
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${REFRAIN_RUNTIME_FLAGS}>)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/platform/${REFRAIN_PLATFORM}/include)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# refrain_offline_options(TARGET): sets the compiler options of the offline half.
function(refrain_offline_options target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2> $<$<COMPILE_LANGUAGE:CXX>:${REFRAIN_STORE_FLAGS}>)
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
endfunction()

# refrain_add_offline_headers(): adds the target whose precompiled headers the libraries of the offline half share.
function(refrain_add_offline_headers)
  set(source ${PROJECT_BINARY_DIR}/offline_headers.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(refrain_offline_headers OBJECT ${source})
  refrain_offline_options(refrain_offline_headers)
  target_link_libraries(refrain_offline_headers PRIVATE fmt::fmt)  # its headers may be outside the system directories
  refrain_precompile(refrain_offline_headers ${REFRAIN_OFFLINE_HEADERS})
endfunction()

# refrain_library(NAME SOURCES...): a static library of the offline half.
function(refrain_library name)
  add_library(${name} STATIC ${ARGN})
  refrain_offline_options(${name})
  list(LENGTH ARGN sources)
  if(sources GREATER 2)
    target_precompile_headers(${name} REUSE_FROM refrain_offline_headers)
    refrain_unify(${name} 6)
  endif()
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/platform/${REFRAIN_PLATFORM}/include)
endfunction()

# refrain_runtime_library(NAME OBJECTS...): a library that is preloaded or linked into a measured program. It needs only
# libc: zstd is linked statically, libstdc++ is not used, and MPI is found at run time. Only the symbols in exports.map
# are visible.
function(refrain_runtime_library name)
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../runtime/exports.map)
  # CMake would add the C++ library by itself, and code that throws would silently need it.
  if(NOT REFRAIN_SANITIZE)
    set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "")
  endif()
  add_library(${name} SHARED)
  target_link_libraries(${name} PRIVATE ${ARGN} refrain_platform refrain_config refrain_unwind refrain_clustering refrain_waits refrain_events refrain_measurement_hot
    refrain_measurement refrain_sampling_hot refrain_sampling refrain_adapter_papi refrain_guest refrain_adapter_user refrain_record refrain_record_process
    refrain_runtime)
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,-z,nodelete -Wl,--gc-sections -Wl,--exclude-libs,ALL)
  # A sanitizer brings libraries of its own; without one, only libc may be linked.
  if(NOT REFRAIN_SANITIZE)
    target_link_options(${name} PRIVATE -nodefaultlibs -Wl,-z,defs)
    target_link_libraries(${name} PRIVATE refrain_own_functions -lc -lgcc)
  endif()
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C LINK_DEPENDS ${exports})
endfunction()
