# SQL over runs that are made up.
refrain_unit_test(test_query unit.query
  ${CMAKE_CURRENT_LIST_DIR}/query/query_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/query/streamed_table_test.cpp
  LIBRARIES refrain_query PkgConfig::sqlite3)
