refrain_unit_test(test_clustering unit.clustering ${CMAKE_CURRENT_LIST_DIR}/clustering/clusterer_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/iteration_log_test.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/sample_store_test.cpp
  LIBRARIES refrain_clustering refrain_experiment refrain_platform)
