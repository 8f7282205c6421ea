// Must be refused: it imports a function.
#include <stdint.h>
float expf(float);
int32_t fill(const void* args, int64_t begin, int64_t end) { return (int32_t)expf((float)(begin + end)) + (args != 0); }
