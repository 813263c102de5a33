// Opens each library that it is given for itself alone, and has it allocate, twice around.
#include <dlfcn.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    for (int i = 0; i < 2 * (count - 1); i++) {
        void *library = dlopen(arguments[1 + i % (count - 1)], RTLD_NOW | RTLD_LOCAL);
        void *(*allocate)(void) = NULL;
        if (library == NULL) {
            return 1;
        }
        *(void **)&allocate = dlsym(library, "plugin_allocate");
        free(allocate());
    }
    return 0;
}
