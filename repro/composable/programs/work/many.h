// Tables of constants without their figures: TAU_MANY_n(f, first) is f(first), f(first + 1), … n of
// them.
#ifndef TAU_MANY_H
#define TAU_MANY_H

#define TAU_MANY_4(f, n) f((n)), f((n) + 1), f((n) + 2), f((n) + 3)
#define TAU_MANY_16(f, n)                                                                          \
    TAU_MANY_4(f, n), TAU_MANY_4(f, (n) + 4), TAU_MANY_4(f, (n) + 8), TAU_MANY_4(f, (n) + 12)
#define TAU_MANY_64(f, n)                                                                          \
    TAU_MANY_16(f, n), TAU_MANY_16(f, (n) + 16), TAU_MANY_16(f, (n) + 32), TAU_MANY_16(f, (n) + 48)
#define TAU_MANY_256(f, n)                                                                         \
    TAU_MANY_64(f, n), TAU_MANY_64(f, (n) + 64), TAU_MANY_64(f, (n) + 128),                        \
        TAU_MANY_64(f, (n) + 192)
#define TAU_MANY_1024(f, n)                                                                        \
    TAU_MANY_256(f, n), TAU_MANY_256(f, (n) + 256), TAU_MANY_256(f, (n) + 512),                    \
        TAU_MANY_256(f, (n) + 768)

#endif
