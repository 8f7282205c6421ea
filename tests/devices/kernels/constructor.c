// Must be refused: it runs code when loaded.
#include <stdint.h>
static int32_t loaded;
__attribute__((constructor)) static void OnLoad(void) { loaded = 1; }
int32_t fill(const void* args, int64_t begin, int64_t end) { return loaded + (args != 0 && begin < end); }
