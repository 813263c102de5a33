// Opens the library that its argument names, has it allocate, and frees that.
#include <dlfcn.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    void *(*allocate)(void) = NULL;
    if (library == NULL) {
        return 1;
    }
    *(void **)&allocate = dlsym(library, "plugin_allocate");
    free(allocate());
    return 0;
}
