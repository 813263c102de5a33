#include "linux/interpose/look_up.h"

#include <dlfcn.h>
#include <stddef.h>

void *tau_look_up_next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

void *tau_look_up_for(const char *name, const void *caller) {
    Dl_info info;
    void *library = dladdr(caller, &info) != 0 && info.dli_fname != NULL
                        ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                        : NULL;
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (library != NULL) {
        dlclose(library);
    }
    return found;
}

bool tau_look_up_same_library(const void *one, const void *other) {
    Dl_info a, b;
    return one != NULL && other != NULL && dladdr(one, &a) != 0 && dladdr(other, &b) != 0 &&
           a.dli_fbase == b.dli_fbase;
}
