# Reports of experiments that are as large as those of large machines: time, memory.
if(REFRAIN_SANITIZE)
  return()
endif()
add_executable(make_experiment ${CMAKE_CURRENT_LIST_DIR}/make_experiment.cpp ${CMAKE_CURRENT_LIST_DIR}/made_up_rank.cpp)
target_link_libraries(make_experiment PRIVATE refrain_record refrain_measurement_hot refrain_measurement
  refrain_clustering refrain_waits refrain_events refrain_config refrain_platform refrain_unwind ${CMAKE_DL_LIBS})
add_executable(read_log ${CMAKE_CURRENT_LIST_DIR}/read_log.cpp)
target_link_libraries(read_log PRIVATE refrain_analysis refrain_experiment)
add_test(NAME scale.small COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/small.py -v)
add_test(NAME scale.large COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/large.py -v)
set_tests_properties(scale.small PROPERTIES TIMEOUT ${time_limit} LABELS unsanitized)
set_tests_properties(scale.large PROPERTIES TIMEOUT 7200 LABELS "unsanitized;long" RUN_SERIAL ON)
# The comparison of two builds, with one build on both sides: nothing differs, and no view fails to be compared.
add_test(NAME scale.compare COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/compare.py
  ${REFRAIN_BUILD}/bin/refrain ${REFRAIN_BUILD}/bin/refrain)
set_tests_properties(scale.compare PROPERTIES TIMEOUT 7200 LABELS "unsanitized;long" RUN_SERIAL ON)
set_tests_properties(scale.small scale.large scale.compare PROPERTIES ENVIRONMENT
  "BUILD_DIR=${REFRAIN_BUILD};MAKE_EXPERIMENT=$<TARGET_FILE:make_experiment>;READ_LOG=$<TARGET_FILE:read_log>")
