add_executable(bench_clustering ${CMAKE_CURRENT_LIST_DIR}/clustering/main.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/sequence.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/generators.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/evaluate.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/shares.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/cost.cpp
  ${CMAKE_CURRENT_LIST_DIR}/clustering/recorded.cpp ${CMAKE_CURRENT_LIST_DIR}/clustering/reference.cpp)
target_link_libraries(bench_clustering PRIVATE refrain_analysis refrain_experiment refrain_clustering refrain_waits
  refrain_platform)
