# What `cmake --install` puts where, and the packages for find_package(tvm-vm) and pkg-config. Components: runtime (what
# programs need that run models), compiler, tool, dev (headers and packages).
#
# A program includes <tvm-vm/vm.h>.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tvm-vm)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tvm-vm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

# Runtime and compiler are two export sets, so that a machine may hold the runtime alone.
function(tvmvm_install_library target export_set component package_component)
  install(TARGETS ${target} EXPORT ${export_set}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT ${package_component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${package_component})
  install(EXPORT ${export_set} NAMESPACE tvm-vm:: DESTINATION ${package_dir} COMPONENT ${package_component})
endfunction()

tvmvm_install_library(tvm-vm tvm-vm-runtime-targets runtime dev)
if(TVMVM_SANDBOX)
  tvmvm_install_library(tvm-vm-sandbox tvm-vm-sandbox-targets runtime dev)
  install(TARGETS tvm-vm-runner RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)  # the library looks beside itself
endif()
if(TVMVM_COMPILER)
  tvmvm_install_library(tvm-vm-compiler tvm-vm-compiler-targets compiler dev)
  tvmvm_install_library(tvm-vm-isolated-compiler tvm-vm-isolated-compiler-targets compiler dev)
  install(TARGETS tvm-vm-compile-runner RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
endif()
foreach(opened tvm-vm-regex tvm-vm-image tvm-vm-signature)
  if(TARGET ${opened})
    install(TARGETS ${opened} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_SKIP)
  endif()
endforeach()
if(TVMVM_TOOL)
  install(TARGETS tvm-vm-tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
  include(cmake/manual.cmake)
endif()
if(TVMVM_DEBIAN)  # whose LICENSE every system has
  set(notices ${PROJECT_SOURCE_DIR}/NOTICES)
else()
  set(notices ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICES)
endif()
install(FILES ${notices} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tvm-vmConfig.cmake.in ${PROJECT_BINARY_DIR}/tvm-vmConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tvm-vmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tvm-vmConfig.cmake ${PROJECT_BINARY_DIR}/tvm-vmConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(pc_cflags "")
set(pc_private "")
if(NOT BUILD_SHARED_LIBS)
  set(pc_cflags " -DTVMVM_STATIC")
  set(pc_private " -lxxhash -lstdc++ -lm -ldl -pthread")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tvm-vm.pc.in ${PROJECT_BINARY_DIR}/tvm-vm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tvm-vm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

if(PROJECT_IS_TOP_LEVEL)
  include(cmake/packages.cmake)
endif()
