// Output of malloc_stats and malloc_info while 5,000,000 bytes are in use.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    void *volatile object = malloc(5000000);
    malloc_stats();
    const int wrong = malloc_info(1, stdout);
    malloc_info(0, stdout);
    free(object);
    return wrong == 0;
}
