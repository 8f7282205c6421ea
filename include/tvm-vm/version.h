/* The version of these headers; CMake reads it from here. While the first number is 0 the second one tells
 * whether two versions go together, and it is part of the libraries' names. */
#ifndef TVMVM_VERSION_H_
#define TVMVM_VERSION_H_

#define TVMVM_VERSION_MAJOR 0
#define TVMVM_VERSION_MINOR 1
#define TVMVM_VERSION_PATCH 0
/* As one number, for comparisons: 1.2.3 is 1002003. */
#define TVMVM_VERSION (TVMVM_VERSION_MAJOR * 1000000 + TVMVM_VERSION_MINOR * 1000 + TVMVM_VERSION_PATCH)

#ifdef __cplusplus
#include <cstdint>
#include <string>

#include "tvm-vm/export.h"

namespace tvmvm {

// TVMVM_VERSION of the library that runs. In C: tvmvm_version.
TVMVM_EXPORT uint32_t Version();
// "1.2.3" of such a number.
TVMVM_EXPORT std::string VersionText(uint32_t version);

}  // namespace tvmvm
#endif

#endif /* TVMVM_VERSION_H_ */
