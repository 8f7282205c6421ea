/* The header is C: this file only has to compile. */
#include "tvm-vm/c_api.h"

tvmvm_code tvmvm_test_code(const tvmvm_status* status) { return tvmvm_status_code(status); }
