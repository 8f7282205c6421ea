#include "runner.h"

#include <algorithm>

namespace tvmvm::python {

void CancelToken::Cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (Runner* runner : runners_) runner->Cancel();
}

bool CancelToken::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

void CancelToken::Attach(Runner& runner) {
  std::lock_guard lock(mutex_);
  runners_.push_back(&runner);
  if (cancelled_) runner.Cancel();
}

void CancelToken::Detach(Runner& runner) {
  std::lock_guard lock(mutex_);
  std::erase(runners_, &runner);
}

}  // namespace tvmvm::python
