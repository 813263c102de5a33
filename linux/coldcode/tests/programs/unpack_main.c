// Unpacks blocks: reads a length and as many bytes, writes whether it was a page, and the page.
// Each block and page has memory of its own, so that a sanitizer sees every byte beyond.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/coldcode/kernel/cold_unpack.h"

int main(void) {
    uint32_t bytes = 0;
    while (fread(&bytes, sizeof bytes, 1, stdin) == 1) {
        uint8_t *packed = malloc(bytes);
        uint8_t *page = malloc(TAU_COLD_PAGE_BYTES);
        memset(page, 0, TAU_COLD_PAGE_BYTES);
        if (fread(packed, 1, bytes, stdin) != bytes) {
            return 1;
        }
        const uint8_t is_page = tau_cold_unpack(packed, bytes, page);
        fwrite(&is_page, 1, 1, stdout);
        fwrite(page, 1, TAU_COLD_PAGE_BYTES, stdout);
        free(packed);
        free(page);
    }
    return 0;
}
