if(REFRAIN_SANITIZE)
  return()
endif()
refrain_mpi_programs(alike_waits ${CMAKE_CURRENT_LIST_DIR}/alike_waits.cpp)
add_test(NAME issues.alike_waits COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/alike_waits.py -v)
set_tests_properties(issues.alike_waits PROPERTIES TIMEOUT ${time_limit} PROCESSORS 2 LABELS "issues;unsanitized"
  ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD}")
