// Three objects, of which the second lies at a multiple of 8 MiB.
#include <stdlib.h>

int main(void) {
    void *volatile objects[] = {malloc(3 << 20), aligned_alloc(1 << 23, 100), malloc(100)};
    return objects[0] == NULL || objects[1] == NULL || objects[2] == NULL;
}
