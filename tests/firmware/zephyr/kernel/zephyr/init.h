// A stand-in for Zephyr's init.h: every function is called before the heaps are made.
#ifndef INIT_H
#define INIT_H

#define SYS_INIT(function, level, priority)                                                        \
    __attribute__((constructor(priority + 101))) static void init_##function(void) {               \
        (void)function();                                                                          \
    }

#endif
