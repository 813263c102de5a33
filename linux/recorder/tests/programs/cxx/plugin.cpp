// A plugin in C++, for a program that has no C++ library itself.
extern "C" void *plugin_allocate(void);

void *plugin_allocate(void) {
    static char *volatile kept;
    kept = new char[1000013];
    delete[] kept;
    return __builtin_malloc(1000003);
}
