# What `cmake --install` puts where, and the packages for find_package(tvm-vm) and pkg-config.
#
# A program includes <tvm-vm/vm.h>.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tvm-vm)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/tvm-vm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Runtime and compiler are two export sets, so that a machine may hold the runtime alone.
function(tvmvm_install_library target export_name export_set)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  install(TARGETS ${target} EXPORT ${export_set} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${export_set} NAMESPACE tvm-vm:: DESTINATION ${package_dir})
endfunction()

tvmvm_install_library(tvm-vm tvm-vm tvm-vm-runtime-targets)
if(TVMVM_COMPILER)
  tvmvm_install_library(tvm-vm-compiler compiler tvm-vm-compiler-targets)
endif()
install(TARGETS tvm-vm-regex tvm-vm-image LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
install(TARGETS tvm-vm-tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/tvm-vmConfig.cmake.in ${CMAKE_BINARY_DIR}/tvm-vmConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tvm-vmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tvm-vmConfig.cmake ${CMAKE_BINARY_DIR}/tvm-vmConfigVersion.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/tvm-vm.pc.in ${CMAKE_BINARY_DIR}/tvm-vm.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tvm-vm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
