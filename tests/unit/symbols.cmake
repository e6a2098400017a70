# Names of functions. The tests compile small programs while they run and compare with binutils.
find_program(REFRAIN_FORTRAN_COMPILER NAMES gfortran)
refrain_unit_test(test_symbols unit.symbols
  ${CMAKE_CURRENT_LIST_DIR}/symbols/names_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/symbols/symbols_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/symbols/names_file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/symbols/experiment_names_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/symbols/function_table_test.cpp
  LIBRARIES refrain_symbols refrain_experiment refrain_platform)
target_compile_definitions(test_symbols PRIVATE
  PROGRAMS="${CMAKE_CURRENT_LIST_DIR}/symbols/programs"
  C_COMPILER="${CMAKE_C_COMPILER}" CXX_COMPILER="${CMAKE_CXX_COMPILER}" FORTRAN_COMPILER="${REFRAIN_FORTRAN_COMPILER}")
