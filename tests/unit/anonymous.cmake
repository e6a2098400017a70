# Words that stand for names.
refrain_unit_test(test_anonymous unit.anonymous
  ${CMAKE_CURRENT_LIST_DIR}/anonymous/pseudonyms_test.cpp
  LIBRARIES refrain_anonymous)
