// Protobuf messages field by field, by protozero. What reads such files includes this in place of protozero's
// own header: its checks are part of its inline functions, and there can be only one of each in a program.
// The build gives protozero's namespace a name of the project's own, so that a program's other copy, with
// other checks, never takes the place of this one.
#pragma once

#include <protozero/exception.hpp>

namespace tvmvm {

struct WrongWireType : protozero::exception {
  const char* what() const noexcept override { return "wrong wire type"; }
};

}  // namespace tvmvm

// A field of another wire type than its message gives it is an error of the file, in every build.
#define protozero_assert(condition) ((condition) ? void() : throw ::tvmvm::WrongWireType())
#include <protozero/pbf_reader.hpp>
