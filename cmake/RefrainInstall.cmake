# What cmake --install installs. The tree can be moved: programs find their libraries and headers relative to
# themselves.
include(CMakePackageConfigHelpers)

# The headers are copied to the build tree too, so that build/bin/refrain-mpicc finds them where the installed one does.
set(annotations refrain.h refrain.f90 refrain_fortran.h)
foreach(file ${annotations})
  configure_file(${PROJECT_SOURCE_DIR}/adapters/user/refrain/${file} ${PROJECT_BINARY_DIR}/include/refrain/${file} COPYONLY)
endforeach()
list(TRANSFORM annotations PREPEND ${PROJECT_SOURCE_DIR}/adapters/user/refrain/)

set(runtimes serial)
foreach(mpi openmpi mpich)
  if(TARGET refrain-${mpi})
    list(APPEND runtimes ${mpi})
  endif()
endforeach()

install(TARGETS refrain refrain-mpicc RUNTIME)
foreach(link refrain-export refrain-analyze ${REFRAIN_WRAPPER_LINKS})
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${link} TYPE BIN)
endforeach()
# Headers for C++ plug-ins of `refrain analyze`.
foreach(folder events format waits offline/experiment offline/trace offline/patterns)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/refrain/api/${folder}
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
endforeach()
install(FILES ${annotations} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/refrain)

# find_package(Refrain): Refrain::refrain is only the annotation header; Refrain::openmpi, Refrain::mpich and
# Refrain::serial are the runtimes to link. They are link options, which precede all libraries in whatever order a
# project names these, because MPI must come after the runtime. Each option is one word, so that no build system can
# split it.
add_library(refrain_annotations INTERFACE)
target_include_directories(refrain_annotations INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(refrain_annotations PROPERTIES EXPORT_NAME refrain)
install(TARGETS refrain_annotations EXPORT RefrainTargets)
foreach(runtime ${runtimes})
  add_library(refrain_linked_${runtime} INTERFACE)
  target_link_options(refrain_linked_${runtime} INTERFACE
    "LINKER:--push-state,--no-as-needed,$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/refrain/librefrain-${runtime}-link.so,--pop-state"
    "LINKER:-rpath,$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}")
  target_include_directories(refrain_linked_${runtime} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(refrain_linked_${runtime} PROPERTIES EXPORT_NAME ${runtime})
  install(TARGETS refrain_linked_${runtime} EXPORT RefrainTargets)
  install(TARGETS refrain-${runtime} LIBRARY)
  install(TARGETS refrain-${runtime}-link LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/refrain)
endforeach()
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Refrain)
install(EXPORT RefrainTargets NAMESPACE Refrain:: DESTINATION ${package})
file(WRITE ${PROJECT_BINARY_DIR}/package/RefrainConfig.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/RefrainTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/RefrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/RefrainConfig.cmake ${PROJECT_BINARY_DIR}/package/RefrainConfigVersion.cmake
  DESTINATION ${package})

# pkg-config: refrain is only the header, refrain-MPI also links that runtime.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
set(pkgconfig "prefix=\${pcfiledir}/${to_prefix}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}

Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
")
file(WRITE ${PROJECT_BINARY_DIR}/package/refrain.pc "${pkgconfig}Name: refrain\n")
install(FILES ${PROJECT_BINARY_DIR}/package/refrain.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(runtime ${runtimes})
  file(WRITE ${PROJECT_BINARY_DIR}/package/refrain-${runtime}.pc "${pkgconfig}Name: refrain-${runtime}
Libs: -Wl,--push-state,--no-as-needed,\${libdir}/refrain/librefrain-${runtime}-link.so,--pop-state -Wl,-rpath,\${libdir}\n")
  install(FILES ${PROJECT_BINARY_DIR}/package/refrain-${runtime}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Man pages; refrain-config(7) is generated from the option table.
set(man ${PROJECT_SOURCE_DIR}/docs/man)
set(generated_man ${PROJECT_BINARY_DIR}/share/man)
add_custom_command(OUTPUT ${generated_man}/man7/refrain-config.7
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated_man}/man7
  COMMAND env -i $<TARGET_FILE:refrain> info config --format man > ${generated_man}/man7/refrain-config.7
  DEPENDS refrain VERBATIM)
add_custom_target(man ALL DEPENDS ${generated_man}/man7/refrain-config.7)
install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
foreach(link refrain-mpicxx refrain-mpifort refrain-cc refrain-cxx)
  file(WRITE ${generated_man}/man1/${link}.1 ".so man1/refrain-mpicc.1\n")
  install(FILES ${generated_man}/man1/${link}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endforeach()
install(FILES ${generated_man}/man7/refrain-config.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)

# Completion for bash, generated from the description of the command line.
set(completion ${PROJECT_BINARY_DIR}/share/bash-completion/completions)
add_custom_command(OUTPUT ${completion}/refrain
  COMMAND ${CMAKE_COMMAND} -E make_directory ${completion}
  COMMAND env -i $<TARGET_FILE:refrain> completion bash > ${completion}/refrain
  DEPENDS refrain VERBATIM)
add_custom_target(completion ALL DEPENDS ${completion}/refrain)
file(MAKE_DIRECTORY ${completion})
foreach(command export analyze)  # bash looks for a file named after the command
  file(CREATE_LINK refrain ${completion}/refrain-${command} SYMBOLIC)
endforeach()
install(FILES ${completion}/refrain ${completion}/refrain-export ${completion}/refrain-analyze DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# Documents keep the layout of the sources, so that links between them work; examples are installed to be read and
# built.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md TYPE DOC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs TYPE DOC FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples TYPE DOC PATTERN CMakeLists.txt EXCLUDE)
