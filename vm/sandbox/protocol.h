// What the library and the runner tell each other: messages of one size over a socket that keeps them apart,
// values in a memory file that both map. Each run is kRun and kResult, with kNeedsRoom and kRoom between them
// where the outputs are larger than what is there.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tvm-vm/version.h"

namespace tvmvm::sandbox {

// Descriptors of the runner.
inline constexpr int kSocket = 3, kProgramFile = 4, kSharedFile = 5, kKernelFile = 6;

enum class MessageKind : uint32_t {
  kStart = 1,        // to the runner: Limits and threads; it loads the program
  kReady = 2,        // from it: or an error
  kRun = 3,          // to it: inputs lie in the shared file
  kNeedsRoom = 4,    // from it: for `bytes` of outputs behind `place`
  kRoom = 5,         // to it: the shared file has `file_bytes` now
  kResult = 6,       // from it: outputs lie there, or an error
  kRefusedCall = 7,  // from it, its last word: `number` of a system call
};

struct Message {
  uint32_t version = TVMVM_VERSION;
  MessageKind kind = MessageKind::kStart;
  uint32_t code = 0;  // of an error; 0: all is well
  uint32_t text_bytes = 0;
  uint64_t file_bytes = 0;  // kStart: of the program; kRun, kRoom: of the shared file
  uint64_t place = 0;       // kRun: where outputs go
  uint64_t records = 0;     // kRun, kResult: of the values
  uint64_t bytes = 0;       // kNeedsRoom, kResult: of all of it
  int64_t number =
      0;  // kRefusedCall: of the call. kStart, kReady: 1 where companions are, or would have to be, opened
  int64_t deadline_ns = 0;  // kRun: steady clock; 0: none
  // kStart
  int64_t max_bytes = 0, max_steps = 0;
  int32_t max_call_depth = 0, threads = 0;
  char text[936] = {};  // of an error
};
static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) == 1024);

}  // namespace tvmvm::sandbox
