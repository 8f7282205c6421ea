#include "vm/sandbox/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tvmvm::sandbox {
namespace {

// What is left of the time, rounded up; null: no limit.
const timespec* TimeLeft(Deadline deadline, timespec* left) {
  if (deadline == kNoDeadline) return nullptr;
  const auto nanoseconds = std::max<int64_t>(
      0, std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Deadline::clock::now()).count());
  constexpr int64_t kSecond = 1'000'000'000;
  *left = {.tv_sec = nanoseconds / kSecond, .tv_nsec = nanoseconds % kSecond};
  return left;
}

// Whether the other side is gone, and did not send a message of no bytes.
bool IsClosed(int socket) {
  pollfd wanted{.fd = socket, .events = 0};
  return poll(&wanted, 1, 0) != 0;
}

}  // namespace

bool Send(int socket, const Message& message) {
  while (true) {
    const ssize_t sent = send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    return sent == static_cast<ssize_t>(sizeof message);
  }
}

Received Receive(int socket, Message* message, Deadline deadline) {
  while (true) {
    if (deadline != kNoDeadline) {
      pollfd wanted{.fd = socket, .events = POLLIN};
      timespec left;
      const int ready = ppoll(&wanted, 1, TimeLeft(deadline, &left), nullptr);
      if (ready == 0) return Received::kLate;
      if (ready < 0 && errno != EINTR) return Received::kClosed;
      if (ready < 0) continue;
    }
    // MSG_TRUNC: the length of what came, although it may be more.
    const ssize_t got = recv(socket, message, sizeof *message, MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || (got == 0 && IsClosed(socket))) return Received::kClosed;
    const bool is_message = got == static_cast<ssize_t>(sizeof *message) && message->version == TVMVM_VERSION;
    return is_message ? Received::kMessage : Received::kGarbage;
  }
}

bool HasInput(int socket) {
  pollfd wanted{.fd = socket, .events = POLLIN};
  return poll(&wanted, 1, 0) != 0;
}

void SetError(Message* message, const Error& error) {
  message->code = static_cast<uint32_t>(error.code);
  message->text_bytes = static_cast<uint32_t>(std::min(error.message.size(), sizeof message->text));
  std::memcpy(message->text, error.message.data(), message->text_bytes);
}

Error ErrorOf(const Message& message) {
  const bool is_code = message.code >= static_cast<uint32_t>(Code::kInvalidArgument) &&
                       message.code <= static_cast<uint32_t>(Code::kIo);
  Error error{is_code ? static_cast<Code>(message.code) : Code::kInternal, ""};
  error.message.assign(message.text, std::min<size_t>(message.text_bytes, sizeof message.text));
  for (char& c : error.message)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return error;
}

}  // namespace tvmvm::sandbox
