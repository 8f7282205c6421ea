// What is made from a program for some purpose (constants on a device, kernels built for it): shared by all
// who ask, for as long as anyone holds it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tvm-vm/status.h"

namespace tvmvm {

namespace wire {
struct SignedFile;  // serializer
}

// Thread-safe. Whoever is first makes it; others wait for that one.
class DerivedCache {
 public:
  // `for_whom` and `what` name it, and decide its type T: whoever is named must live as long as the result.
  // `make` gives Expected<std::shared_ptr<const T>>.
  template <class T, class Make>
  Expected<std::shared_ptr<const T>> Get(const void* for_whom, std::string what, Make make) {
    std::lock_guard lock(mutex_);
    std::erase_if(made_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const void>& known = made_[{for_whom, std::move(what)}];
    if (std::shared_ptr<const void> held = known.lock()) return std::static_pointer_cast<const T>(held);
    Expected<std::shared_ptr<const T>> fresh = make();
    if (fresh) known = *fresh;
    return fresh;
  }

  // What the program was loaded from, where that is signed; set before anyone shares the program.
  std::shared_ptr<const wire::SignedFile> signed_file;
  // Whether the file that it is mapped from was cut meanwhile; null where it is not mapped. Set as above.
  const std::atomic<bool>* is_cut = nullptr;

 private:
  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, std::weak_ptr<const void>> made_;
};

}  // namespace tvmvm
