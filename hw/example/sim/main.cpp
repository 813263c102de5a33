// Runs the example SoC until its program ends: prints its console, and exits with its code, or with
// 2 after too many cycles.
#include <cstdio>

#include "Vtau_example.h"

static const unsigned RESET_CYCLES = 4, CYCLES_MAX = 1000000;

int main() {
    Vtau_example soc;
    soc.rst_ni = 1;
    soc.eval();
    for (unsigned cycle = 0; cycle < CYCLES_MAX; cycle++) {
        soc.rst_ni = cycle >= RESET_CYCLES;
        soc.clk_i = 0;
        soc.eval();
        if (soc.rst_ni && soc.console_valid_o) {
            std::putchar(int(soc.word_o));
        }
        if (soc.rst_ni && soc.exit_valid_o) {
            return int(soc.word_o);
        }
        soc.clk_i = 1;
        soc.eval();
    }
    return 2;
}
