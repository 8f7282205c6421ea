// What the compiling process gives up before it sees the model: what a compiler never does.
#pragma once

#include <cstdint>

namespace tvmvm::isolated {

// New rights, dumps of its memory, life behind its parent. Where memory is short the system ends it first.
void GiveUpRights();

// Memory beyond `max_bytes` (0: no limit) more than it has now, and files that are larger.
void LimitMemory(int64_t max_bytes);

// Other programs, other processes (their memory, signals to them, new ones), sockets, and the parts of the
// system that only its management needs: such calls fail with EPERM. Files are those of the user. False where
// the system has no filter of system calls.
bool RefuseSystemCalls();

}  // namespace tvmvm::isolated
