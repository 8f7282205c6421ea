# Packages of what is installed: `cpack -G DEB` makes Debian packages, a component each (`./dev deb` does, with the preset
# deb), `cpack -G TGZ` a folder that runs wherever it lies (`./dev tarball`).
set(CPACK_PACKAGE_NAME tvm-vm)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "tvm-vm")
set(TVMVM_MAINTAINER "The tvm-vm developers <maintainers@tvm-vm.org>" CACHE STRING "Whom packages name as their maintainer")
set(CPACK_PACKAGE_CONTACT "${TVMVM_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler and virtual machine for dynamic neural networks")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_SYSTEM_NAME linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL runtime tool dev)
if(TVMVM_COMPILER)
  list(APPEND CPACK_COMPONENTS_ALL compiler)
endif()

# The relocatable folder: what runs programs, and the tool.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/cpack_generator.cmake)
file(WRITE ${CPACK_PROJECT_CONFIG_FILE} [=[
if(CPACK_GENERATOR STREQUAL TGZ)
  set(CPACK_COMPONENTS_ALL runtime tool)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
endif()
]=])

# Debian's names of the components.
set(runtime_package libtvm-vm0)
set(compiler_package libtvm-vm-compiler0)
set(tool_package tvm-vm)
set(dev_package libtvm-vm-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CPACK_PACKAGE_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
foreach(component runtime compiler)
  string(TOUPPER ${component} part)
  set(CPACK_DEBIAN_${part}_PACKAGE_SECTION libs)
endforeach()
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "libtvm-vm0 ${same_version}")
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "libtvm-vm0 ${same_version}")
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS "libtvm-vm-compiler0 ${same_version}")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libtvm-vm0 ${same_version}, libexpected-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libtvm-vm-compiler0 ${same_version}")

# The synopsis is one for all.
foreach(row "runtime|Here is the library that loads and runs such files."
            "compiler|Here is the library that makes such files of ONNX models."
            "tool|Here is the command tvm-vm, with its manual pages."
            "dev|Here are headers, and descriptions for CMake and pkg-config.")
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 component)
  list(GET row 1 rest)
  string(TOUPPER ${component} part)
  set(CPACK_DEBIAN_${part}_PACKAGE_NAME ${${component}_package})
  set(CPACK_COMPONENT_${part}_DESCRIPTION
    "Models with loops, branches, sequences and dimensions that are known only when\nthey run are compiled into one file, which runs at every shape.\n\n${rest}")
endforeach()

# What Debian wants of every package, and that its loader sees new libraries.
if(TVMVM_DEBIAN)
  find_program(GZIP gzip REQUIRED)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
  foreach(component ${CPACK_COMPONENTS_ALL})
    set(package ${${component}_package})
    set(folder ${PROJECT_BINARY_DIR}/debian/${package})
    file(WRITE ${folder}/changelog.Debian
      "tvm-vm (${PROJECT_VERSION}-1) unstable; urgency=medium\n\n  * Version ${PROJECT_VERSION}.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    execute_process(COMMAND ${GZIP} -9nf ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
    install(FILES ${folder}/changelog.Debian.gz ${PROJECT_SOURCE_DIR}/cmake/debian/copyright
      DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
    set(overrides "# These packages are not Debian's own: no bug asked for them.\ninitial-upload-closes-no-bugs\n")
    if(component MATCHES "runtime|compiler")
      string(APPEND overrides
        "# One package for all 0.x; its library of another x is another file, and what is linked to it says so.\n"
        "package-name-doesnt-match-sonames\n# CPack calls it beside the trigger.\nmaintscript-calls-ldconfig\n")
    endif()
    file(WRITE ${folder}/overrides "${overrides}")
    install(FILES ${folder}/overrides DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides RENAME ${package}
      COMPONENT ${component})
  endforeach()
  foreach(part RUNTIME COMPILER)
    set(CPACK_DEBIAN_${part}_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
  endforeach()
endif()
include(CPack)
