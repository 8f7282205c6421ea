// The compiler in a process of its own, for services: where it crashes, takes too long or runs out of memory,
// as it may at a stranger's model, that is an error of the call. In libtvm-vm-isolated-compiler, which needs
// no LLVM itself and starts the executable tvm-vm-compile-runner beside it; that one opens
// libtvm-vm-compiler. Linux.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>

#include "tvm-vm/compiler.h"
#include "tvm-vm/export.h"
#include "tvm-vm/status.h"

namespace tvmvm {

struct IsolationOptions {
  // Limits; 0: none. `max_bytes` bounds what the process allocates, as the system counts it: stacks of
  // threads are in it, mapped files are not; the program that it makes is bounded by it, too, for itself.
  // `timeout` counts from the call on.
  int64_t max_bytes = 0;
  std::chrono::nanoseconds timeout{0};
  std::stop_token cancel;  // ends the call with kCancelled; from any thread
  std::string runner;      // the executable; "": tvm-vm-compile-runner beside this library
};

// As Compiler::CompileFile and Compiler::CompileBytes, in a process that is started for it and gone when the
// call returns. The options' callbacks are called here, on the calling thread. The program is that of the
// process, checked as LoadProgram does; it lies in a memory file that nobody can change. Nothing is written
// to this process's standard output and error.
//
// Errors: the compiler's; kOutOfMemory where the process reached the limit, or the system killed it;
// kDeadlineExceeded; kCancelled; kInternal where it crashed (the message has the signal, and the end of what
// it wrote to its standard error) or answered nonsense; kNotFound where the runner is not there. The process
// is gone then, too, with all that it held.
//
// Threads: any number of callers at once, each has a process. A thread of this library's waits for it, so
// that a handler of SIGCHLD may be called in this process; it has to leave children alone that are not its
// own. Where SIGCHLD is ignored everything works, but a crash is an error that does not know the signal.
[[nodiscard]] TVMVM_EXPORT Expected<CompileResult> CompileFileIsolated(
    const std::string& path, const CompileOptions& options = {}, const IsolationOptions& isolation = {});
// The model is copied.
[[nodiscard]] TVMVM_EXPORT Expected<CompileResult> CompileBytesIsolated(
    std::span<const std::byte> model, const CompileOptions& options = {},
    const IsolationOptions& isolation = {});

// Both, for who opens the library when they are first needed.
struct IsolatedCompiler {
  decltype(&CompileFileIsolated) compile_file;
  decltype(&CompileBytesIsolated) compile_bytes;
};

}  // namespace tvmvm

extern "C" {
// What the library is: TVMVM_VERSION of its own. Asked first: the rest of another version cannot be called.
TVMVM_EXPORT uint32_t tvmvm_isolated_compiler_version();
TVMVM_EXPORT const tvmvm::IsolatedCompiler* tvmvm_isolated_compiler();
}
