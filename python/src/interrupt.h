// Ctrl-C ends the run that Python's main thread waits for.
#pragma once

#include <csignal>

namespace tvmvm::python {

// What Ctrl-C cancels: called in a signal handler, on any thread.
class Interruptible {
 public:
  virtual void Cancel() noexcept = 0;

 protected:
  ~Interruptible() = default;
};

// While it lives SIGINT cancels the run before Python's own handler hears of it. Does nothing on other
// threads than the main one, where Python does not handle the signal, and inside of another one.
class InterruptScope {
 public:
  explicit InterruptScope(Interruptible& run);
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope();

 private:
  bool is_active_ = false;
};

// The thread that imports the module is Python's main thread, or else nothing is interrupted.
void FindMainThread();

}  // namespace tvmvm::python
