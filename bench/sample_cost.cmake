if(TARGET benchmark::benchmark)
  add_executable(bench_sample_cost sample_cost.cpp)
  target_link_libraries(bench_sample_cost PRIVATE refrain_sampling_hot refrain_sampling refrain_measurement_hot
    refrain_measurement refrain_clustering refrain_config refrain_unwind refrain_platform benchmark::benchmark ${CMAKE_DL_LIBS})
endif()
