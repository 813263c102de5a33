// Every instruction of Zbb on many values, mixed into one number. Built twice: for the emulated
// core, and with ZBB_BARE for a bare machine whose serial port prints the number.
#include <stdint.h>

#define BINARY(name, a, b)                                                                         \
    ({                                                                                             \
        uint32_t result_;                                                                          \
        __asm__(#name " %0, %1, %2" : "=r"(result_) : "r"(a), "r"(b));                             \
        result_;                                                                                   \
    })
#define UNARY(name, a)                                                                             \
    ({                                                                                             \
        uint32_t result_;                                                                          \
        __asm__(#name " %0, %1" : "=r"(result_) : "r"(a));                                         \
        result_;                                                                                   \
    })
#define MIX(value) (sum = (sum ^ (value)) * 0x01000193u + 0x9e3779b9u)

uint32_t zbb_step(uint32_t a, uint32_t b);
uint32_t zbb_digest(void);

uint32_t zbb_step(uint32_t a, uint32_t b) {
    uint32_t sum = 0;
    MIX(BINARY(andn, a, b));
    MIX(BINARY(orn, a, b));
    MIX(BINARY(xnor, a, b));
    MIX(BINARY(min, a, b));
    MIX(BINARY(minu, a, b));
    MIX(BINARY(max, a, b));
    MIX(BINARY(maxu, a, b));
    MIX(BINARY(rol, a, b));
    MIX(BINARY(ror, a, b));
    MIX(UNARY(clz, a));
    MIX(UNARY(ctz, a));
    MIX(UNARY(cpop, a));
    MIX(UNARY(sext.b, a));
    MIX(UNARY(sext.h, a));
    MIX(UNARY(zext.h, a));
    MIX(UNARY(orc.b, a));
    MIX(UNARY(rev8, a));
    uint32_t rotated;
    __asm__("rori %0, %1, 13" : "=r"(rotated) : "r"(a));
    MIX(rotated);
    return sum;
}

uint32_t zbb_digest(void) {
    static const uint32_t values[] = {0,          1,          0x80,       0xff,       0x8000,
                                      0xffff,     0x10000,    0x7fffffff, 0x80000000, 0xffffffff,
                                      0x12345678, 0x00ff00ff, 0x80808080, 33,         0xfffffff0};
    uint32_t sum = 0;
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        for (unsigned j = 0; j < sizeof values / sizeof values[0]; j++) {
            MIX(zbb_step(values[i], values[j]));
        }
    }
    uint32_t a = 1;
    for (unsigned i = 0; i < 1000; i++) {
        a = a * 1664525u + 1013904223u;
        MIX(zbb_step(a, a >> 7));
    }
    return sum;
}

#ifdef ZBB_BARE
// The linker puts this section first, where the machine starts.
__attribute__((naked, section(".text.unlikely"))) void _start(void) {
    __asm__("li sp, 0x80100000\n j zbb_main");
}

__attribute__((noreturn, used)) void zbb_main(void);

void zbb_main(void) {
    volatile uint8_t *const serial = (volatile uint8_t *)0x10000000;
    volatile uint32_t *const finisher = (volatile uint32_t *)0x100000;
    const uint32_t sum = zbb_digest();
    for (int shift = 28; shift >= 0; shift -= 4) {
        *serial = (uint8_t)"0123456789abcdef"[sum >> shift & 15];
    }
    *serial = '\n';
    for (;;) {
        *finisher = 0x5555;
    }
}
#endif
