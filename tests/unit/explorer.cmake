# The explorer's file: what is kept of a run, and how it is written.
refrain_unit_test(test_explorer unit.explorer UNIFY
  ${CMAKE_CURRENT_LIST_DIR}/explorer/file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/explorer/golden_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/explorer/mixture_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/explorer/scale_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/explorer/summary_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/explorer/told_test.cpp
  LIBRARIES refrain_explorer refrain_clustering refrain_waits refrain_platform ZLIB::ZLIB nlohmann_json::nlohmann_json)
target_compile_definitions(test_explorer PRIVATE GOLDEN="${CMAKE_CURRENT_LIST_DIR}/../golden")
