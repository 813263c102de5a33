// The memories of the pages validity array. The operations are inlined in validity_inline.h.
#include "core/validity.h"

#include "core/private/memory.h"
#include "core/private/pages/validity_inline.h"

_Static_assert(sizeof(struct tau_validity_region) == 2 * sizeof(uint32_t), "two words, no padding");
_Static_assert(sizeof(struct tau_validity_stack) == 2 * sizeof(uint32_t), "two words, no padding");
_Static_assert((VALIDITY_STATE & TAU_RIGHTS) == 0, "state and rights are different bits");
_Static_assert(((VALIDITY_STATE | TAU_RIGHTS) & TAU_NUMBER_MASK) == 0, "and none of a number's");

#define VALIDITY_PAGE_BYTES                                                                        \
    (sizeof(struct tau_validity_region) + sizeof(struct tau_validity_stack) + sizeof(uint32_t))

size_t tau_validity_size_bytes(uint32_t pages_count) {
    return VALIDITY_PAGE_BYTES * (size_t)pages_count;
}

enum tau_status tau_validity_init(struct tau_validity *validity, void *memory, size_t size_bytes,
                                  uint32_t pages_count) {
    if (pages_count == 0 || pages_count > TAU_NUMBER_MASK ||
        size_bytes < tau_validity_size_bytes(pages_count) ||
        !memory_holds(memory, tau_validity_size_bytes(pages_count))) {
        return TAU_BAD_ARGUMENT;
    }
    struct tau_validity_region *const regions = memory;
    struct tau_validity_stack *const stacks = (struct tau_validity_stack *)(regions + pages_count);
    tau_validity_init_at(validity, regions, stacks, (uint32_t *)(stacks + pages_count),
                         pages_count);
    TAU_ASSERT((unsigned char *)(validity->data + pages_count) ==
               (unsigned char *)memory + tau_validity_size_bytes(pages_count));
    return TAU_OK;
}

bool tau_validity_lookup(const struct tau_validity *validity, struct tau_page page,
                         uint32_t *entry) {
    TAU_ASSERT(entry != NULL);
    return page.number < validity->pages_count && validity_lookup(validity, page.number, entry);
}
