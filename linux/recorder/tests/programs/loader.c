// Opens the library that its argument names, has it allocate, and frees that. With a second
// argument the library is opened with RTLD_DEEPBIND.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    const int flags = RTLD_NOW | (count > 2 ? RTLD_DEEPBIND : 0);
    void *library = count > 1 ? dlopen(arguments[1], flags) : NULL;
    void *(*allocate)(void) = NULL;
    if (library == NULL) {
        return 1;
    }
    *(void **)&allocate = dlsym(library, "plugin_allocate");
    free(allocate());
    return 0;
}
