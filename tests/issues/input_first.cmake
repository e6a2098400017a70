if(REFRAIN_SANITIZE)
  return()
endif()
refrain_mpi_programs(input_first ${CMAKE_CURRENT_LIST_DIR}/input_first.c)
add_test(NAME issues.input_first COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/input_first.py -v)
set_tests_properties(issues.input_first PROPERTIES TIMEOUT ${time_limit} PROCESSORS 2 LABELS "issues;unsanitized"
  ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD}")
