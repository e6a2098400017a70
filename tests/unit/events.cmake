refrain_unit_test(test_events unit.events ${CMAKE_CURRENT_LIST_DIR}/events/codec_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/events/buffer_test.cpp
  LIBRARIES refrain_events)
