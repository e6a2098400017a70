refrain_unit_test(test_runtime unit.runtime ${CMAKE_CURRENT_LIST_DIR}/runtime/copies_test.cpp LIBRARIES refrain_platform)
