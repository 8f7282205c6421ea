# Every library from outside, and how it is found. README.md says why each is there.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(mimalloc REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)
find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h REQUIRED)
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
find_path(MINIZIP_INCLUDE_DIR minizip/unzip.h REQUIRED)
find_library(MINIZIP_LIBRARY minizip REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(TIFF 4.5 REQUIRED)
find_path(WEBP_INCLUDE_DIR webp/decode.h REQUIRED)
find_library(WEBP_LIBRARY webp REQUIRED)
find_path(OPENJPEG_INCLUDE_DIR openjpeg.h PATH_SUFFIXES openjpeg-2.5 REQUIRED)
find_library(OPENJPEG_LIBRARY openjp2 REQUIRED)
# Headers alone: the loaders are opened at run time.
find_path(OPENCL_INCLUDE_DIR CL/cl.h REQUIRED)
find_path(VULKAN_INCLUDE_DIR vulkan/vulkan_core.h REQUIRED)
find_program(FLATC flatc REQUIRED)

# Generates <name>_generated.h below build/generated and makes TARGET depend on it.
function(tvmvm_flatbuffers target schema)
  get_filename_component(folder ${schema} DIRECTORY)
  get_filename_component(name ${schema} NAME_WE)
  set(out ${CMAKE_BINARY_DIR}/generated/${folder}/${name}_generated.h)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${FLATC} --cpp --scoped-enums --gen-object-api -o ${CMAKE_BINARY_DIR}/generated/${folder} ${CMAKE_SOURCE_DIR}/${schema}
    DEPENDS ${CMAKE_SOURCE_DIR}/${schema})
  target_sources(${target} PRIVATE ${out})
endfunction()

if(TVMVM_COMPILER)
  find_package(LLVM 19.1 REQUIRED CONFIG)
  find_package(LLD REQUIRED CONFIG PATHS /usr/lib/llvm-19)
  find_package(ZLIB REQUIRED)
endif()
