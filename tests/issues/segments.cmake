if(REFRAIN_SANITIZE)
  return()
endif()
# The long form lays the program out in more ways.
foreach(form short:0 long.full:1)
  string(REGEX MATCH "^([a-z]+)([.a-z]*):(.)$" form ${form})
  set(name issues.segments${CMAKE_MATCH_2})
  add_test(NAME ${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/segments.py -v)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${time_limit} LABELS "issues;unsanitized;${CMAKE_MATCH_1}"
    ENVIRONMENT "BUILD_DIR=${REFRAIN_BUILD};FULL_TESTS=${CMAKE_MATCH_3}")
endforeach()
