refrain_unit_test(test_events unit.events ${CMAKE_CURRENT_LIST_DIR}/events/codec_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/events/buffer_test.cpp ${CMAKE_CURRENT_LIST_DIR}/events/clock_correction_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/events/stream_test.cpp ${CMAKE_CURRENT_LIST_DIR}/events/job_clocks_test.cpp ${CMAKE_CURRENT_LIST_DIR}/events/span_store_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/events/matched_sample_test.cpp ${CMAKE_CURRENT_LIST_DIR}/events/message_numbers_test.cpp ${CMAKE_CURRENT_LIST_DIR}/events/metric_values_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/events/pairing_test.cpp ${CMAKE_CURRENT_LIST_DIR}/events/sampled_messages_test.cpp
  LIBRARIES refrain_trace refrain_experiment refrain_record refrain_events refrain_platform)
