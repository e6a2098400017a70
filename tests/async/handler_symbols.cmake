add_test(NAME async.handler_symbols
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/handler_symbols.sh
    $<FILTER:$<TARGET_OBJECTS:refrain_sampling_hot>,EXCLUDE,gch$> $<FILTER:$<TARGET_OBJECTS:refrain_measurement_hot>,EXCLUDE,gch$> $<FILTER:$<TARGET_OBJECTS:refrain_events>,EXCLUDE,gch$> $<FILTER:$<TARGET_OBJECTS:refrain_unwind>,EXCLUDE,gch$>
    $<FILTER:$<TARGET_OBJECTS:refrain_platform>,EXCLUDE,gch$>
  COMMAND_EXPAND_LISTS)
set_tests_properties(async.handler_symbols PROPERTIES LABELS "async;unsanitized")
