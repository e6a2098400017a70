refrain_unit_test(test_config unit.config ${CMAKE_CURRENT_LIST_DIR}/config/configuration_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/config/function_name_test.cpp ${CMAKE_CURRENT_LIST_DIR}/config/inlined_code_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/config/metric_list_test.cpp
  LIBRARIES refrain_config)
