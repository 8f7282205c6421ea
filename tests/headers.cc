// Read once for all tests: GoogleTest.
int main() { return 0; }
