// What a forked child finds of the lock's queue: nothing that threads left there which it lacks.
// The argument is how the fork came about. Prints what is wrong, then "done".
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "linux/runtime/lock.c"

#define PARENT 0x3abcdefu  // a thread's id, and not this one's

struct expected {
    const char *name;
    uint32_t found, wanted;
};

int main(int count, char **words) {
    const bool is_nested = count > 1 && strcmp(words[1], "plain") != 0;
    const bool is_alone = count > 1 && strcmp(words[1], "nested, alone") == 0;
    tau_lock_my_id = PARENT;
    tau_lock.word = is_nested && !is_alone ? PARENT : 0;
    tau_lock_gate.inside = is_alone;
    tau_lock_before_fork();
    tau_lock.asked = 9;  // tickets 4 to 8 are out, of which 6 has been served
    tau_lock.turn = 4;
    tau_lock.passes = TAU_LOCK_PASSES_MAX;
    is_served[6] = true;
    sleepers = 3;
    tau_lock_threads = 5;
    tau_lock_in_child();
    const bool is_owner = is_nested && !is_alone;
    const uint32_t id = is_owner ? (uint32_t)gettid() : 0;
    const struct expected table[] = {
        {"word", tau_lock.word, id},
        {"id", tau_lock_my_id, id},
        {"threads", tau_lock_threads, is_owner},
        {"turn", tau_lock.turn, tau_lock.asked},
        {"passes", tau_lock.passes, 0},
        {"served", is_served[6], false},
        {"sleepers", sleepers, 0},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        if (table[index].found != table[index].wanted) {
            printf("%s: %u, not %u\n", table[index].name, table[index].found, table[index].wanted);
        }
    }
    puts("done");
    return 0;
}
