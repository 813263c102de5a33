// Exits with the first word of its first command, or never when it is 0xFFFFFFFF.
#include "targets/tile/program.h"

int main(void) {
    uint32_t words[4] = {0};
    tau_tile_next_command(words);
    while (words[0] == 0xFFFFFFFFu) {
    }
    return (int)words[0];
}
