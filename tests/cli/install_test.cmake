# Installs the build into a folder of its own and builds examples/embed against it, as a stranger would.
# Given: BUILD, SOURCE, SANITIZE, HAS_COMPILER.
set(prefix ${BUILD}/install-test)
set(project ${BUILD}/install-test-embed)
file(REMOVE_RECURSE ${prefix} ${project})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${code}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/embed -B ${project} -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    "-DCMAKE_CXX_FLAGS=${flags}" "-DCMAKE_C_FLAGS=${flags}")
run(${CMAKE_COMMAND} --build ${project})
if(NOT HAS_COMPILER)
  return()
endif()

# The installed tool finds the installed compiler.
run(${BUILD}/make_demo_model ${project}/demo.onnx)
run(${prefix}/bin/tvm-vm compile ${project}/demo.onnx -o ${project}/demo.vmexe)
foreach(program embed embed_c)
  run(${project}/${program} ${project}/demo.vmexe)
  if(NOT output MATCHES "y\\[1, 16, 64\\] = .*y\\[4, 100, 64\\] = ")
    message(FATAL_ERROR "${program} printed:\n${output}")
  endif()
endforeach()

# pkg-config describes the same library.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc ${prefix}/*/tvm-vm.pc)
  get_filename_component(pc_folder ${pc} DIRECTORY)
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${PKG_CONFIG} --cflags --libs tvm-vm)
  if(NOT output MATCHES "-ltvm-vm")
    message(FATAL_ERROR "pkg-config printed: ${output}")
  endif()
endif()
