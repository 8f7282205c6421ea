# What the packaging tests share.

# Runs a command, whose output is then in `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${code}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Runs one of examples/embed's programs: with the demo model, where `folder` has demo.vmexe, else without any, to see it start.
function(run_program program folder)
  if(EXISTS ${folder}/demo.vmexe)
    run(${program} ${folder}/demo.vmexe)
    set(wanted "y\\[1, 16, 64\\] = .*y\\[4, 100, 64\\] = ")
  else()
    execute_process(COMMAND ${program} ${folder}/absent.vmexe OUTPUT_VARIABLE output ERROR_VARIABLE output)
    set(wanted "absent.vmexe")
  endif()
  if(NOT output MATCHES "${wanted}")
    message(FATAL_ERROR "${program} printed:\n${output}")
  endif()
endfunction()
