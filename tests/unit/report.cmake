refrain_unit_test(test_report unit.report UNIFY
  ${CMAKE_CURRENT_LIST_DIR}/report/units_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/report_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/loops_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/every_view_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/request_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/numbers_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/text_table_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/rank_times_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/wait_findings_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/report/foreign_report_test.cpp
  LIBRARIES refrain_report_foreign refrain_report_patterns refrain_report refrain_clustering refrain_waits refrain_platform nlohmann_json::nlohmann_json)
target_compile_definitions(test_report PRIVATE GOLDEN="${CMAKE_CURRENT_LIST_DIR}/../golden"
  REPORT_FORMAT="${CMAKE_CURRENT_LIST_DIR}/../../docs/report-format.md")
