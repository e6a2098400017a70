refrain_unit_test(test_properties unit.properties
  ${CMAKE_CURRENT_LIST_DIR}/properties/cubex_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/properties/profile_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/properties/differential_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/properties/language_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/properties/native_run_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/properties/paper_test.cpp
  LIBRARIES refrain_database refrain_clustering refrain_platform)
