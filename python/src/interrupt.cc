#include "interrupt.h"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <atomic>

namespace nb = nanobind;

namespace tvmvm::python {
namespace {

// Changed by the main thread alone, outside of Python's control over it: signals are handled on any thread.
pthread_t g_main_thread;
struct sigaction g_previous;
std::atomic<Interruptible*> g_run{nullptr};
std::atomic<int> g_handlers{0};  // that may be using g_run

void OnInterrupt(int signal, siginfo_t* info, void* context) {
  g_handlers.fetch_add(1);
  if (Interruptible* run = g_run.load()) run->Cancel();
  const struct sigaction previous = g_previous;
  g_handlers.fetch_sub(1);
  if (previous.sa_flags & SA_SIGINFO)
    previous.sa_sigaction(signal, info, context);
  else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
    previous.sa_handler(signal);
}

bool IsIgnored(const struct sigaction& action) {
  return !(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

}  // namespace

void FindMainThread() {
  const auto main =
      nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  g_main_thread = static_cast<pthread_t>(main);
}

InterruptScope::InterruptScope(Interruptible& run) {
  if (!pthread_equal(pthread_self(), g_main_thread) || g_run.load(std::memory_order_relaxed)) return;
  struct sigaction ours {};
  ours.sa_sigaction = OnInterrupt;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  g_run.store(&run);
  if (sigaction(SIGINT, &ours, &g_previous) != 0) {
    g_run.store(nullptr);
    return;
  }
  is_active_ = true;
  if (!IsIgnored(g_previous)) return;
  sigaction(SIGINT, &g_previous, nullptr);
  g_run.store(nullptr);
  is_active_ = false;
}

InterruptScope::~InterruptScope() {
  if (!is_active_) return;
  struct sigaction current;
  sigaction(SIGINT, &g_previous, &current);
  if (!(current.sa_flags & SA_SIGINFO) || current.sa_sigaction != OnInterrupt)
    sigaction(SIGINT, &current, nullptr);  // somebody set another one meanwhile
  g_run.store(nullptr);
  while (g_handlers.load() != 0) {
  }
}

}  // namespace tvmvm::python
