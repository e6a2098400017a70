# Ticks that are left by a jump, instruction by instruction. Sanitizers execute too many of their own.
if(NOT REFRAIN_SANITIZE)
  refrain_unit_test(test_abandoned async.abandoned ${CMAKE_CURRENT_LIST_DIR}/abandoned/abandoned.cpp
    LIBRARIES refrain_sampling_hot refrain_sampling refrain_measurement_hot refrain_measurement refrain_clustering refrain_waits refrain_events
      refrain_config refrain_platform refrain_unwind
    PROPERTIES LABELS async)
  add_test(NAME async.abandoned.full COMMAND test_abandoned)
  set_tests_properties(async.abandoned.full PROPERTIES LABELS "async;long" ENVIRONMENT "REFRAIN_TEST_ALL_INSTRUCTIONS=1" TIMEOUT 600)
endif()
