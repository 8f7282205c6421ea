# What a user does who adds a device, by docs/adding_a_device.md: two enumerators, two rows (rows.txt), the folder devices/echo,
# and how devices/device_list.cc opens it (open.txt, and its row). Copies the files that these belong into from SOURCE to
# OUT, with the lines in their places.
include(${CMAKE_CURRENT_LIST_DIR}/../add_lines.cmake)
set(here ${CMAKE_CURRENT_LIST_DIR})

function(copy_with path from to)
  file(READ "${SOURCE}/${path}" text)
  string(REPLACE "${from}" "${to}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${path} does not have '${from}'")
  endif()
  file(WRITE "${OUT}/${path}" "${changed}")
endfunction()

copy_with(include/tvm-vm/target_info.h "kNull = 3 }" "kNull = 3, kEcho = 4 }")
copy_with(include/tvm-vm/program.h "kSpirV = 3 }" "kSpirV = 3, kEchoText = 4 }")
set(null_row "    {DeviceKind::kNull, true, FindNull, OpenNull},\n")
set(echo_row "    {DeviceKind::kEcho, true, FindEcho, OpenEcho},\n")
copy_with(devices/device_list.cc "${null_row}" "${null_row}${echo_row}")
add_lines(${OUT}/devices/device_list.cc "#include \"devices/found_device.h\"" ${here}/include.txt)
add_lines(${OUT}/devices/device_list.cc "struct Kind {" ${here}/open.txt)
file(COPY ${SOURCE}/bytecode/device_kinds.def DESTINATION ${OUT}/bytecode)
add_lines(${OUT}/bytecode/device_kinds.def "#undef DEVICE_KIND" ${here}/rows.txt)
file(COPY ${here}/echo_device.h ${here}/echo_device.cc DESTINATION ${OUT}/devices/echo)
