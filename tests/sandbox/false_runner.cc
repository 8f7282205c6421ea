// Answers as the runner of a hostile program may once it is under foreign control. What it does is in the
// name that it is started by.
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tvm-vm/dtype.h"
#include "vm/sandbox/packed_values.h"
#include "vm/sandbox/protocol.h"

namespace tvmvm::sandbox {
namespace {

bool Take(Message* message) { return recv(kSocket, message, sizeof *message, 0) == sizeof *message; }
void Say(const Message& message) { send(kSocket, &message, sizeof message, MSG_NOSIGNAL); }
void SayError(uint32_t code, const char* text, uint32_t text_bytes) {
  Message message{.kind = MessageKind::kResult, .code = code, .text_bytes = text_bytes};
  std::strncpy(message.text, text, sizeof message.text);
  Say(message);
}

// A result of one record, which lies where it should in the shared file.
void SayRecord(const Message& run, const PackedRecord& record, uint64_t records = 1) {
  if (pwrite(kSharedFile, &record, sizeof record, static_cast<off_t>(run.place)) != sizeof record) return;
  Say({.kind = MessageKind::kResult, .records = records, .bytes = sizeof record});
}

PackedRecord GoodRecord(const Message& run) {
  PackedRecord record{.kind = PackedRecord::kTensor, .dtype = static_cast<uint32_t>(DType::kI64), .rank = 1};
  record.dims[0] = 8;
  record.place = run.place + 1024;
  record.bytes = 64;
  return record;
}

void AnswerRun(const std::string& what, const Message& run) {
  PackedRecord record = GoodRecord(run);
  if (what == "good") return SayRecord(run, record);
  if (what == "short") return static_cast<void>(send(kSocket, "x", 1, 0));
  if (what == "long") {
    static char bytes[8192];
    return static_cast<void>(send(kSocket, bytes, sizeof bytes, 0));
  }
  if (what == "version") return Say({.version = 1, .kind = MessageKind::kResult});
  if (what == "kind") return Say({.kind = static_cast<MessageKind>(77)});
  if (what == "ready") return Say({.kind = MessageKind::kReady});
  if (what == "records") return SayRecord(run, record, UINT64_MAX / 8);
  if (what == "none") return SayRecord(run, record, 0);
  if (what == "code") return SayError(4711, "a strange error", 15);
  if (what == "text") return SayError(1, "red\x1b[31m\n\x07 text", UINT32_MAX);
  if (what == "call") return Say({.kind = MessageKind::kRefusedCall, .number = INT64_MIN});
  if (what == "huge") return Say({.kind = MessageKind::kNeedsRoom, .bytes = UINT64_MAX - 100});
  if (what == "again") {
    Message room;
    for (int i = 0; i < 3; ++i) Say({.kind = MessageKind::kNeedsRoom, .bytes = 1 << 20});
    return static_cast<void>(Take(&room));
  }
  if (what == "twice") {
    SayRecord(run, record);
    return SayRecord(run, record);
  }
  if (what == "silent") return;
  if (what == "closed" || what == "lingers") {
    close(kSocket);
    if (what == "lingers") pause();
    _exit(0);
  }
  if (what == "exit") _exit(7);
  if (what == "dtype") record.dtype = 200;
  if (what == "float") record.dtype = static_cast<uint32_t>(DType::kF64);
  if (what == "string") record.dtype = static_cast<uint32_t>(DType::kString);
  if (what == "rank") record.rank = 4000;
  if (what == "rank2") record.rank = 2, record.dims[1] = 1;
  if (what == "negative") record.dims[0] = -8;
  if (what == "dims") record.dims[0] = INT64_MAX;
  if (what == "other") record.dims[0] = 4, record.bytes = 32;
  if (what == "place") record.place = UINT64_MAX - 63;
  if (what == "bytes") record.bytes = UINT64_MAX;
  if (what == "odd") record.place += 1;
  if (what == "sequence") record = {.kind = PackedRecord::kSequence, .count = UINT64_MAX};
  if (what == "empty") record = {.kind = PackedRecord::kSequence};
  if (what == "nothing") record = {.kind = PackedRecord::kNone};
  SayRecord(run, record);
}

int Live(const std::string& what) {
  Message start, run;
  if (!Take(&start)) return 1;
  if (what == "unready") return static_cast<int>(pause());
  Say({.kind = MessageKind::kReady});
  while (Take(&run)) AnswerRun(what, run);
  return 0;
}

}  // namespace
}  // namespace tvmvm::sandbox

int main(int, char** arguments) {
  const std::string path = arguments[0];
  return tvmvm::sandbox::Live(path.substr(path.rfind('/') + 1));
}
