// Loaded by loader.c after its start: its call sites lie in a module that was not there at first.
#include <stdlib.h>

void *plugin_allocate(void);

void *plugin_allocate(void) {
    void *object = malloc(1000003);
    return object;
}
