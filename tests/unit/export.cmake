refrain_unit_test(test_export unit.export
  ${CMAKE_CURRENT_LIST_DIR}/export/formats_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/export/run_of_experiment_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/export/timeline_test.cpp
  LIBRARIES archive_writer refrain_export refrain_database refrain_clustering refrain_waits refrain_platform ZLIB::ZLIB PkgConfig::otf2
    nlohmann_json::nlohmann_json)
target_include_directories(test_export PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../..)
