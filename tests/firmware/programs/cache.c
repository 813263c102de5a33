// A cache of pages by name: a hash table and a list by last use. The least used leave.
#include "program.h"

#define BUCKETS 128u
#define BYTES_MAX 26000u
#define STEPS 5000u

struct page {
    struct page *next;
    struct page *older, *newer;
    char *name;
    unsigned char *bytes;
    uint32_t key;
    uint16_t size;
    uint16_t uses;
};

static struct page *buckets[BUCKETS];
static struct page *oldest, *newest;
static uint32_t live_bytes;

static void unlink_use(struct page *page) {
    *(page->older != NULL ? &page->older->newer : &oldest) = page->newer;
    *(page->newer != NULL ? &page->newer->older : &newest) = page->older;
}

static void link_newest(struct page *page) {
    page->older = newest;
    page->newer = NULL;
    *(newest != NULL ? &newest->newer : &oldest) = page;
    newest = page;
}

static void evict(struct page *page) {
    struct page **place = &buckets[page->key % BUCKETS];
    while (*place != page) {
        place = &(*place)->next;
    }
    *place = page->next;
    unlink_use(page);
    live_bytes -= page->size;
    add(page->key);
    add(page->uses);
    add(page->bytes[page->size - 1]);
    add_text(page->name, strlen(page->name));
    drop(page->bytes);
    drop(page->name);
    drop(page);
}

static void load(uint32_t key) {
    struct page *page = grab_zeros(1, sizeof *page);
    const uint32_t name_length = 5 + key % 23;
    page->key = key;
    page->size = (uint16_t)(30 + key * 7919u % (key % 9 == 0 ? 1400 : 350));
    page->name = grab(name_length + 1);
    memset(page->name, (int)('a' + key % 26), name_length);
    page->name[name_length] = '\0';
    page->bytes = grab(page->size);
    memset(page->bytes, (int)(key & 0xff), page->size);
    page->next = buckets[key % BUCKETS];
    buckets[key % BUCKETS] = page;
    link_newest(page);
    live_bytes += page->size;
    while (live_bytes > BYTES_MAX) {
        evict(oldest);
    }
}

int main(int count, char **arguments) {
    start(count, arguments);
    for (uint32_t step = 0; step < STEPS; step++) {
        // Some pages are asked for much more often than others.
        const uint32_t key = random_below(1 + random_below(1 + random_below(4000)));
        struct page *page = buckets[key % BUCKETS];
        while (page != NULL && page->key != key) {
            page = page->next;
        }
        if (page == NULL) {
            load(key);
        } else {
            page->uses++;
            unlink_use(page);
            link_newest(page);
        }
    }
    while (oldest != NULL) {
        evict(oldest);
    }
    return finish();
}
