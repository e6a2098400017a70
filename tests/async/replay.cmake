# The tick handler in ordinary context: fault 38 of docs/faults.md. In the builds with sanitizers these judge it,
# elsewhere valgrind does.
refrain_unit_test(test_replay async.replay ${CMAKE_CURRENT_LIST_DIR}/replay/replay.cpp
  LIBRARIES refrain_sampling_hot refrain_sampling refrain_measurement_hot refrain_measurement refrain_clustering refrain_waits refrain_events refrain_config
    refrain_platform refrain_unwind
  PROPERTIES LABELS async)

find_program(REFRAIN_VALGRIND valgrind)
if(REFRAIN_VALGRIND AND NOT REFRAIN_SANITIZE)
  add_test(NAME async.replay.valgrind COMMAND ${REFRAIN_VALGRIND} --quiet --error-exitcode=99 
    --suppressions=${CMAKE_CURRENT_LIST_DIR}/replay/valgrind.supp $<TARGET_FILE:test_replay>)
  set_tests_properties(async.replay.valgrind PROPERTIES LABELS "async;unsanitized" TIMEOUT ${time_limit}
    ENVIRONMENT "REFRAIN_TEST_REPLAYS=20;REFRAIN_TEST_SEEDS=500")
endif()
