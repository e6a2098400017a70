# The rules of findings, on hand-made experiments, and their records.
refrain_unit_test(test_findings unit.findings
  ${CMAKE_CURRENT_LIST_DIR}/findings/rules_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/findings/finding_test.cpp
  LIBRARIES refrain_findings refrain_clustering refrain_waits refrain_platform)
