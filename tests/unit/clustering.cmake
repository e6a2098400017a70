# clustering/former is the code that differential_test.cpp compares with; both go together.
set(former ${CMAKE_CURRENT_LIST_DIR}/clustering/former)
set(compared ${REFRAIN_SOURCE}/bench/clustering)
refrain_unit_test(test_clustering unit.clustering ${CMAKE_CURRENT_LIST_DIR}/clustering/clusterer_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/differential_test.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/reference_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/iteration_log_test.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/sample_store_test.cpp
  ${former}/block_heap.cpp ${former}/choice.cpp ${former}/classes.cpp ${former}/clusterer.cpp ${former}/packed_table.cpp
  ${former}/settled.cpp ${former}/storage.cpp
  ${compared}/generators.cpp ${compared}/reference.cpp ${compared}/sequence.cpp
  LIBRARIES refrain_clustering refrain_experiment refrain_platform)
