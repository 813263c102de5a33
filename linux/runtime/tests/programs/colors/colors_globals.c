// Globals of two tasks, and of none. It prints where they are, then all mappings.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "linux/runtime/colors/tau_task.h"

static TAU_TASK_GLOBAL("one") int counter = 7;
static TAU_TASK_GLOBAL("two") char buffer[3000];
static int plain = 3;

int main(void) {
    char text[512];
    FILE *const maps = fopen("/proc/self/maps", "r");
    memset(buffer, 5, sizeof buffer);
    counter += buffer[2999] + plain;
    printf("object global:one %p\nobject global:two %p\n", (void *)&counter, (void *)buffer);
    printf("object global:none %p\n", (void *)&plain);
    while (maps != NULL && fgets(text, sizeof text, maps) != NULL) {
        printf("map %s", text);
    }
    return counter != 15;
}
