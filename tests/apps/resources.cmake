# What becomes of a measurement when files, memory, timers or threads run short.
if(REFRAIN_SANITIZE)
  return()
endif()
app_program(fail_call fail_call.c)
app_program(resources resources.c)
target_include_directories(resources PRIVATE ${REFRAIN_SOURCE}/adapters/user)
app_test(resources LONG)
