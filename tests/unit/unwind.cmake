refrain_unit_test(test_unwind unit.unwind ${CMAKE_CURRENT_LIST_DIR}/unwind/tables_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/unwind/expression_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/unwind/proof_test.cpp
  LIBRARIES refrain_unwind_proof refrain_platform refrain_unwind)
# There are holes between its segments; its libraries have none.
target_link_options(test_unwind PRIVATE -Wl,-z,max-page-size=0x200000)
