refrain_unit_test(test_clustering unit.clustering ${CMAKE_CURRENT_LIST_DIR}/clustering/clusterer_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/class_block_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/iteration_log_test.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/sample_store_test.cpp
  LIBRARIES refrain_clustering refrain_experiment refrain_platform)

# The clusterer against the one before it, and the methods that the benchmark compares it with.
set(bench_clustering ${PROJECT_SOURCE_DIR}/bench/clustering)
set(former ${CMAKE_CURRENT_LIST_DIR}/clustering/former)
refrain_unit_test(test_clustering_differential unit.clustering
  ${CMAKE_CURRENT_LIST_DIR}/clustering/differential_test.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/paper_test.cpp
  ${bench_clustering}/paper.cpp ${bench_clustering}/sequence.cpp ${bench_clustering}/generators.cpp
  ${former}/block_heap.cpp ${former}/choice.cpp ${former}/classes.cpp ${former}/clusterer.cpp ${former}/packed_table.cpp
  ${former}/settled.cpp ${former}/storage.cpp
  LIBRARIES refrain_clustering refrain_experiment refrain_platform)
