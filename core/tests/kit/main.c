// One program for all tests in C of a configuration:
//
// - `examples [FILTER]` runs the cases that have FILTER in their name.
// - `random MECHANISM SEED CALLS` runs programs of random calls.
// - `explore MECHANISM DEPTH STATES [ARGUMENT…]` visits every state that DEPTH calls reach (0: any
//   number), at most STATES.
#include "core/tests/kit/mechanism.h"

#ifndef TAU_FUZZER  // libFuzzer has a main of its own.
int main(int argc, char **argv) {
    const char *const command = argc > 1 ? argv[1] : "examples";
    if (strcmp(command, "examples") == 0) {
        return test_run(argc > 2 ? argv[2] : NULL);
    }
    if (strcmp(command, "random") == 0 && argc == 5) {
        return mechanism_random(argv[2], strtoull(argv[3], NULL, 0), strtoul(argv[4], NULL, 0));
    }
    if (strcmp(command, "explore") == 0 && argc >= 5) {
        return mechanism_explore(argv[2], (const char *const *)argv + 3, (size_t)argc - 3);
    }
    printf("see core/tests/kit/main.c\n");
    return 2;
}
#endif
