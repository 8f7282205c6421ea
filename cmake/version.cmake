# The version is that of include/tvm-vm/version.h. While it is 0.x, what was built with one x does not run with another, so
# the libraries' names hold both numbers.
set(numbers "")
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../include/tvm-vm/version.h line REGEX "#define TVMVM_VERSION_${part} [0-9]+")
  string(REGEX MATCH "[0-9]+$" number "${line}")
  list(APPEND numbers ${number})
endforeach()
list(JOIN numbers "." TVMVM_VERSION)
list(GET numbers 0 TVMVM_SOVERSION)
if(TVMVM_SOVERSION EQUAL 0)
  list(GET numbers 1 minor)
  set(TVMVM_SOVERSION 0.${minor})
endif()
