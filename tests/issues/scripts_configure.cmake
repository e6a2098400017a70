if(REFRAIN_SANITIZE OR NOT "mpich" IN_LIST REFRAIN_MPIS OR NOT "openmpi" IN_LIST REFRAIN_MPIS)
  return()
endif()
add_test(NAME issues.scripts_configure COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/scripts_configure.py -v)
set_tests_properties(issues.scripts_configure PROPERTIES TIMEOUT ${time_limit} LABELS "issues;unsanitized"
                     ENVIRONMENT "REFRAIN_SOURCE=${REFRAIN_SOURCE}")
