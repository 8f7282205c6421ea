#include "vm/host/operands.h"

namespace tvmvm {

#define PENDING(Name) \
  Status Host##Name(HostCall&) { return MakeError(Code::kUnsupported, "not there yet"); }
PENDING(StringTake)
PENDING(StringIds)
PENDING(StringConcat)
PENDING(StringSplit)
PENDING(StringMatch)
PENDING(StringNormalize)
PENDING(StringFromNumbers)
PENDING(StringToNumbers)
PENDING(Unique)
PENDING(NonMaxSuppression)

}  // namespace tvmvm
