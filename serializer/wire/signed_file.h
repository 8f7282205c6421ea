// A file that has a signature, as it was loaded.
#pragma once

#include <vector>

#include "serializer/wire/layout.h"

namespace tvmvm::wire {

struct SignedFile {
  std::vector<Section> sections;  // of which one is the signature
};

}  // namespace tvmvm::wire
