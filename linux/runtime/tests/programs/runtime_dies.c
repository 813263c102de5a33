// Dies by the signal that it is told, once a large request is refused.
#include <signal.h>
#include <stdlib.h>

static __attribute__((noinline)) char *load(size_t size) {
    char *volatile made = malloc(size);  // refused
    return made;
}

int main(int count, char **words) {
    return count < 2 || load(5000000) != NULL || raise(atoi(words[1]));
}
