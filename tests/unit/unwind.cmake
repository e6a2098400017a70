refrain_unit_test(test_unwind unit.unwind ${CMAKE_CURRENT_LIST_DIR}/unwind/tables_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/unwind/expression_test.cpp
  LIBRARIES refrain_unwind refrain_platform)
