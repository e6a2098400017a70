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
