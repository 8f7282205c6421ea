// What the signal of a refused system call does.
#pragma once

namespace tvmvm::sandbox {

// The handler tells the parent which call was refused, and ends the process. Three calls of the loader it
// answers by itself, so that a kernel library is loaded without files being opened: making a memory file
// (that is kKernelFile, once), opening /proc/self/fd/N (a copy of N), and asking for the size of what is
// open.
void HandleRefusedCalls();

}  // namespace tvmvm::sandbox
