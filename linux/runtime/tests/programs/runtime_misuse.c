// One kind of misuse, by name; the allocator should stop the program at it.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    char *volatile object = malloc(count > 2 ? 64 : 1000);
    char *volatile other = malloc(1000);
    char local[64] = "";
    other[0] = local[0];
    if (strcmp(words[1], "twice") == 0) {
        free(object);
        free(object);
    } else if (strcmp(words[1], "stack") == 0) {
        free(&local[16]);
    } else if (strcmp(words[1], "inside") == 0) {
        free(object + 16);
    } else if (strcmp(words[1], "misaligned") == 0) {
        free(object + 3);
    } else if (strcmp(words[1], "resized") == 0) {
        free(object);
        object = realloc(object, 3000);
    } else if (strcmp(words[1], "overrun") == 0) {
        memset(object, 'x', malloc_usable_size(object) + 8);
        free(object);
    }
    puts("not seen");
    return 0;
}
