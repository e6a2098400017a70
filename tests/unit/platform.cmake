# Sanitizers do not know threads that libc does not know.
if(NOT REFRAIN_SANITIZE)
  refrain_unit_test(test_platform unit.platform ${CMAKE_CURRENT_LIST_DIR}/platform/barrier_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/platform/hash_index_test.cpp ${CMAKE_CURRENT_LIST_DIR}/platform/helper_thread_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/platform/pages_test.cpp
    LIBRARIES refrain_platform PROPERTIES LABELS unsanitized)
endif()
