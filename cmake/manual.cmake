# Manual pages and completions for shells, which the tool prints of its own options.
find_program(GZIP gzip)
if(NOT GZIP OR CMAKE_CROSSCOMPILING)
  return()
endif()
set(manual ${PROJECT_BINARY_DIR}/manual)
set(commands compile run bench plan test inspect disasm asm verify ops devices warm version completion man)
set(pages ${manual}/tvm-vm.1.gz)
set(steps COMMAND sh -c "$<TARGET_FILE:tvm-vm-tool> man | ${GZIP} -9n > ${manual}/tvm-vm.1.gz")
foreach(command IN LISTS commands)
  list(APPEND pages ${manual}/tvm-vm-${command}.1.gz)
  list(APPEND steps COMMAND sh -c "$<TARGET_FILE:tvm-vm-tool> man ${command} | ${GZIP} -9n > ${manual}/tvm-vm-${command}.1.gz")
endforeach()
set(completions ${manual}/tvm-vm ${manual}/_tvm-vm ${manual}/tvm-vm.fish)
add_custom_command(OUTPUT ${pages} ${completions}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual} ${steps}
  COMMAND sh -c "$<TARGET_FILE:tvm-vm-tool> completion bash > ${manual}/tvm-vm"
  COMMAND sh -c "$<TARGET_FILE:tvm-vm-tool> completion zsh > ${manual}/_tvm-vm"
  COMMAND sh -c "$<TARGET_FILE:tvm-vm-tool> completion fish > ${manual}/tvm-vm.fish"
  DEPENDS tvm-vm-tool VERBATIM COMMENT "Manual pages and completions")
add_custom_target(tvm-vm-manual ALL DEPENDS ${pages} ${completions})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
install(FILES ${manual}/tvm-vm DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions COMPONENT tool)
install(FILES ${manual}/_tvm-vm DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions COMPONENT tool)
install(FILES ${manual}/tvm-vm.fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d COMPONENT tool)
