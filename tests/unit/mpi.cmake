# The MPI adapter's parts: generator, request table, coverage list.
set(mpi_unit ${CMAKE_CURRENT_LIST_DIR}/mpi)

foreach(mpi ${REFRAIN_MPIS})
  add_test(NAME unit.mpi.generator.${mpi}
    COMMAND Python3::Interpreter -B ${mpi_unit}/generator_test.py ${REFRAIN_BUILD}/adapters/mpi/${mpi}/mpi.i)
endforeach()

if(REFRAIN_MPIS)
  list(GET REFRAIN_MPIS 0 mpi)
  refrain_unit_test(test_mpi_requests unit.mpi ${mpi_unit}/request_table_test.cpp ${REFRAIN_SOURCE}/adapters/mpi/requests/request_table.cpp
    ${mpi_unit}/channels_test.cpp ${REFRAIN_SOURCE}/adapters/mpi/identities/channels.cpp
    LIBRARIES refrain_platform mpi_${mpi} Threads::Threads)
  refrain_unit_test(test_mpi_coverage unit.mpi ${mpi_unit}/coverage_test.cpp LIBRARIES refrain_mpi_coverage)
endif()
