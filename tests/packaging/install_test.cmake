# Installs the build into a folder of its own and builds examples/embed against it, as a stranger would: by CMake and by
# pkg-config. Given: BUILD, SOURCE, SANITIZE, HAS_COMPILER, CXX, CC.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(prefix ${BUILD}/install-test)
set(project ${BUILD}/install-test-embed)
file(REMOVE_RECURSE ${prefix} ${project})

set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/embed -B ${project} -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    "-DCMAKE_CXX_FLAGS=${flags}" "-DCMAKE_C_FLAGS=${flags}")
run(${CMAKE_COMMAND} --build ${project})

# pkg-config describes the same library.
set(programs embed embed_c)
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc ${prefix}/*/tvm-vm.pc)
  get_filename_component(pc_folder ${pc} DIRECTORY)
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${PKG_CONFIG} --cflags --libs tvm-vm)
  separate_arguments(package UNIX_COMMAND "${output}")
  file(GLOB_RECURSE library ${prefix}/*/libtvm-vm.so)
  get_filename_component(libraries ${library} DIRECTORY)
  run(${CXX} -std=c++20 ${flags} ${SOURCE}/examples/embed/embed.cc -o ${project}/embed_pc ${package} -Wl,-rpath,${libraries})
  run(${CC} ${flags} ${SOURCE}/examples/embed/embed.c -o ${project}/embed_c_pc ${package} -lm -Wl,-rpath,${libraries})
  list(APPEND programs embed_pc embed_c_pc)
endif()

# The installed tool finds the installed compiler, and so does the process that a service compiles in.
if(HAS_COMPILER)
  run(${BUILD}/make_demo_model ${project}/demo.onnx)
  run(${project}/compile_in_service ${project}/demo.onnx)
  run(${prefix}/bin/tvm-vm compile ${project}/demo.onnx -o ${project}/demo.vmexe)
  if(NOT SANITIZE)  # which the sandbox does not bear
    run(${prefix}/bin/tvm-vm run ${project}/demo.vmexe --sandbox)
  endif()
endif()
foreach(program IN LISTS programs)
  run_program(${project}/${program} ${project})
endforeach()

# The components: what runs programs is there without what builds them.
file(REMOVE_RECURSE ${prefix})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component runtime)
file(GLOB_RECURSE installed RELATIVE ${prefix} ${prefix}/*)
if(NOT installed MATCHES "libtvm-vm[.]so[.]" OR NOT installed MATCHES "NOTICES" OR installed MATCHES "include/|cmake/|bin/|compiler")
  message(FATAL_ERROR "the component runtime is: ${installed}")
endif()
