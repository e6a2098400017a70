refrain_unit_test(test_tools unit.tools ${CMAKE_CURRENT_LIST_DIR}/tools/console_test.cpp ${CMAKE_CURRENT_LIST_DIR}/tools/launchers_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/tools/program_test.cpp
  LIBRARIES refrain_tools)
