// Messages over a socket.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "tvm-vm/status.h"
#include "vm/sandbox/protocol.h"

namespace tvmvm::sandbox {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

enum class Received : uint8_t {
  kMessage,
  kClosed,   // the other side's end
  kLate,     // nothing before the deadline
  kGarbage,  // something else than a message
};

// False where the other side is gone or takes nothing.
bool Send(int socket, const Message& message);
Received Receive(int socket, Message* message, Deadline deadline);
// Whether something is there to be received, or the other side is gone.
bool HasInput(int socket);

// Puts an error into a message, its text cut where it is too long.
void SetError(Message* message, const Error& error);
// The error of a message from whoever: code and length are checked, control characters are replaced.
Error ErrorOf(const Message& message);

}  // namespace tvmvm::sandbox
