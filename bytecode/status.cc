#include "tvm-vm/status.h"

namespace tvmvm {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kInvalidProgram:
      return "invalid_program";
    case Code::kNotFound:
      return "not_found";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kOutOfMemory:
      return "out_of_memory";
    case Code::kDeadlineExceeded:
      return "deadline_exceeded";
    case Code::kCancelled:
      return "cancelled";
    case Code::kDeviceLost:
      return "device_lost";
    case Code::kInternal:
      return "internal";
    case Code::kIo:
      return "io";
  }
  return "unknown";
}

}  // namespace tvmvm
