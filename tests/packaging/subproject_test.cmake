# Builds examples/embed with the runtime's sources as a part of it: the smallest configuration, as a shared library, and as an
# archive, which is not optimized (it is to link and to run), and holds the shared one's size.
# Given: BUILD, SOURCE, HAS_COMPILER, LAUNCHER, STRIP, MOST_BYTES.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(demo ${BUILD}/subproject-test-demo)
file(MAKE_DIRECTORY ${demo})
if(HAS_COMPILER)
  run(${BUILD}/make_demo_model ${demo}/demo.onnx)
  run(${BUILD}/tvm-vm compile ${demo}/demo.onnx -o ${demo}/demo.vmexe)
endif()
set(type_ON Release)
set(type_OFF None)
foreach(shared ON OFF)
  set(folder ${BUILD}/subproject-test-${shared})
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/subproject -B ${folder} -G Ninja -DCMAKE_BUILD_TYPE=${type_${shared}}
      -DBUILD_SHARED_LIBS=${shared} -DTVMVM_SOURCE=${SOURCE} -DTVMVM_EMBED=${SOURCE}/examples/embed
      -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
  run(${CMAKE_COMMAND} --build ${folder} --parallel 2)
  foreach(program embed embed_c)
    run_program(${folder}/${program} ${demo})
  endforeach()
endforeach()

set(library ${BUILD}/subproject-test-ON/tvm-vm/libtvm-vm.so)
run(${STRIP} -o ${library}.stripped ${library})
file(SIZE ${library}.stripped bytes)
message(STATUS "the runtime for CPUs alone has ${bytes} bytes")
if(bytes GREATER MOST_BYTES)
  message(FATAL_ERROR "the runtime for CPUs alone has ${bytes} bytes, ${MOST_BYTES} are allowed")
endif()
