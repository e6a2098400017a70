# The MPI adapter's parts: generator, request table, coverage list.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
set(mpi_unit ${CMAKE_CURRENT_LIST_DIR}/mpi)

foreach(mpi ${REFRAIN_MPIS})
  add_test(NAME unit.mpi_generator.${mpi}
    COMMAND Python3::Interpreter -B ${mpi_unit}/generator_test.py ${PROJECT_BINARY_DIR}/adapters/mpi/${mpi}/mpi.i)
endforeach()

if(REFRAIN_MPIS)
  list(GET REFRAIN_MPIS 0 mpi)
  add_executable(test_mpi_requests ${mpi_unit}/request_table_test.cpp ${PROJECT_SOURCE_DIR}/adapters/mpi/request_table.cpp)
  target_link_libraries(test_mpi_requests PRIVATE refrain_platform mpi_${mpi} GTest::gtest_main Threads::Threads)
  gtest_discover_tests(test_mpi_requests DISCOVERY_MODE PRE_TEST)

  add_executable(test_mpi_coverage ${mpi_unit}/coverage_test.cpp)
  target_link_libraries(test_mpi_coverage PRIVATE refrain_mpi_coverage GTest::gtest_main)
  gtest_discover_tests(test_mpi_coverage DISCOVERY_MODE PRE_TEST)
endif()
