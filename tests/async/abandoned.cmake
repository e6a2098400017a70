# Ticks that are left by a jump, instruction by instruction. Sanitizers execute too many of their own.
if(NOT REFRAIN_SANITIZE)
  refrain_unit_test(test_abandoned async.abandoned ${CMAKE_CURRENT_LIST_DIR}/abandoned/abandoned.cpp
    LIBRARIES refrain_sampling_hot refrain_sampling refrain_measurement_hot refrain_measurement refrain_clustering refrain_waits refrain_events
      refrain_config refrain_platform refrain_unwind
    PROPERTIES LABELS async)
  # A tick, or a call, is stepped through once for each of its instructions, up to that one: five minutes a test of
  # ticks, or fifteen where traps are slow.
  foreach(case leaves_nothing_half_made_and_holds_nothing does_not_measure_a_call_in_the_midst_of_a_tick_and_goes_on
      is_ended_once_when_a_tick_comes_in_the_call_that_finds_it
      comes_in_the_call_that_finds_an_abandoned_one_and_ends_that_once)
    add_test(NAME async.abandoned.full.${case} COMMAND test_abandoned --gtest_filter=*.${case})
    set_tests_properties(async.abandoned.full.${case} PROPERTIES LABELS "async;long"
      ENVIRONMENT "REFRAIN_TEST_ALL_INSTRUCTIONS=1" TIMEOUT 3600)
  endforeach()
endif()
