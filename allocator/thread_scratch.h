// Memory of threads that kernels scribble in: grown when a kernel asks for more, kept for the next one.
#pragma once

#include <cstdint>

namespace tvmvm {

// The calling thread's, for one kernel at a time: at least so many bytes, 64-byte aligned, from the
// constructor to the destructor. Takes no lock once the thread has memory enough.
class ThreadScratch {
 public:
  explicit ThreadScratch(int64_t bytes);
  ~ThreadScratch();
  ThreadScratch(const ThreadScratch&) = delete;
  ThreadScratch& operator=(const ThreadScratch&) = delete;

  void* memory() const;  // null where there is none

 private:
  void* block_ = nullptr;
};

// What all threads of the process keep, and frees what no kernel uses at the moment, from any thread.
int64_t ThreadScratchBytes();
void TrimThreadScratch();

}  // namespace tvmvm
