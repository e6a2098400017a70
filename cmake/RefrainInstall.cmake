# What cmake --install puts where. The tree can be moved: programs find their libraries and headers relative to themselves.
include(CMakePackageConfigHelpers)

# In the build tree too, so that build/bin/refrain-mpicc finds it where the installed one does.
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
foreach(link ${REFRAIN_WRAPPER_LINKS})
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${link} TYPE BIN)
endforeach()
install(FILES ${annotations} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/refrain)

# find_package(Refrain): Refrain::refrain is the annotations' header alone, Refrain::openmpi, Refrain::mpich and Refrain::serial
# are the runtimes to link, before MPI.
add_library(refrain_annotations INTERFACE)
target_include_directories(refrain_annotations INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(refrain_annotations PROPERTIES EXPORT_NAME refrain)
install(TARGETS refrain_annotations EXPORT RefrainTargets)
foreach(runtime ${runtimes})
  set_target_properties(refrain-${runtime} PROPERTIES EXPORT_NAME ${runtime})
  target_link_options(refrain-${runtime} INTERFACE LINKER:--no-as-needed)
  target_include_directories(refrain-${runtime} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS refrain-${runtime} EXPORT RefrainTargets LIBRARY)
endforeach()
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Refrain)
install(EXPORT RefrainTargets NAMESPACE Refrain:: DESTINATION ${package})
file(WRITE ${PROJECT_BINARY_DIR}/package/RefrainConfig.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/RefrainTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/RefrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/RefrainConfig.cmake ${PROJECT_BINARY_DIR}/package/RefrainConfigVersion.cmake
  DESTINATION ${package})

# pkg-config: refrain is the header alone, refrain-MPI also links that runtime. As-needed stays off behind it: the runtime
# defines all of MPI's functions, so that the linker might find the MPI library superfluous.
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
Libs: -Wl,--no-as-needed -L\${libdir} -Wl,-rpath,\${libdir} -lrefrain-${runtime}\n")
  install(FILES ${PROJECT_BINARY_DIR}/package/refrain-${runtime}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Man pages; refrain-config(7) is made from the option table.
set(man ${PROJECT_SOURCE_DIR}/docs/man)
set(generated_man ${PROJECT_BINARY_DIR}/share/man)
add_custom_command(OUTPUT ${generated_man}/man7/refrain-config.7
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated_man}/man7
  COMMAND env -i $<TARGET_FILE:refrain> info config --format man > ${generated_man}/man7/refrain-config.7
  DEPENDS refrain VERBATIM)
add_custom_target(man ALL DEPENDS ${generated_man}/man7/refrain-config.7)
install(FILES ${man}/refrain.1 ${man}/refrain-run.1 ${man}/refrain-exec.1 ${man}/refrain-report.1 ${man}/refrain-mpicc.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(link refrain-mpicxx refrain-mpifort refrain-cc refrain-cxx)
  file(WRITE ${generated_man}/man1/${link}.1 ".so man1/refrain-mpicc.1\n")
  install(FILES ${generated_man}/man1/${link}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endforeach()
install(FILES ${generated_man}/man7/refrain-config.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md TYPE DOC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ TYPE DOC FILES_MATCHING PATTERN "*.md")
