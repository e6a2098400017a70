add_test(NAME handler.needs_only_async_signal_safe_functions
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/handler_symbols.sh
    $<TARGET_OBJECTS:refrain_sampling_hot> $<TARGET_OBJECTS:refrain_measurement_hot> $<TARGET_OBJECTS:refrain_unwind>
    $<TARGET_OBJECTS:refrain_platform>
  COMMAND_EXPAND_LISTS)
set_tests_properties(handler.needs_only_async_signal_safe_functions PROPERTIES LABELS "async;unsanitized")
