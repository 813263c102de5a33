// An interner: words of texts are kept once, in a table that doubles; texts are lists of pointers
// to words that grow by realloc, and are joined to strings.
#include "program.h"

#define TEXTS 12u
#define STEPS 3000u

struct word {
    struct word *next;
    uint32_t hash;
    uint32_t users;
    uint16_t length;
    char letters[];
};

struct text {
    struct word **words;
    uint32_t count, room;
};

static struct word **table;
static uint32_t words_count, buckets_count;
static struct text texts[TEXTS];

static void double_the_table(void) {
    const uint32_t wanted = buckets_count == 0 ? 32 : buckets_count * 2;
    struct word **wider = grab_zeros(wanted, sizeof *wider);
    for (uint32_t i = 0; i < buckets_count; i++) {
        while (table[i] != NULL) {
            struct word *word = table[i];
            table[i] = word->next;
            word->next = wider[word->hash % wanted];
            wider[word->hash % wanted] = word;
        }
    }
    drop(table);
    table = wider;
    buckets_count = wanted;
}

static struct word *interned(const char *letters, uint32_t length) {
    uint32_t hash = 5381;
    for (uint32_t i = 0; i < length; i++) {
        hash = hash * 33 + (unsigned char)letters[i];
    }
    if (words_count >= buckets_count) {
        double_the_table();
    }
    struct word *word = table[hash % buckets_count];
    while (word != NULL &&
           (word->length != length || memcmp(word->letters, letters, length) != 0)) {
        word = word->next;
    }
    if (word == NULL) {
        word = grab(sizeof *word + length);
        word->hash = hash;
        word->users = 0;
        word->length = (uint16_t)length;
        memcpy(word->letters, letters, length);
        word->next = table[hash % buckets_count];
        table[hash % buckets_count] = word;
        words_count++;
    }
    word->users++;
    return word;
}

static void release(struct word *word) {
    if (--word->users > 0) {
        return;
    }
    struct word **place = &table[word->hash % buckets_count];
    while (*place != word) {
        place = &(*place)->next;
    }
    *place = word->next;
    words_count--;
    drop(word);
}

static void append(struct text *text) {
    char letters[24];
    const uint32_t number = random_below(1 + random_below(2500));
    const uint32_t length = 3 + number % 21;
    for (uint32_t i = 0; i < length; i++) {
        letters[i] = (char)('a' + (number + i * (number % 7 + 1)) % 26);
    }
    if (text->count == text->room) {
        const uint32_t wanted = text->room + text->room / 2 + 8;
        text->words = regrab(text->words, text->room * sizeof *text->words,
                             wanted * sizeof *text->words);
        text->room = wanted;
    }
    text->words[text->count++] = interned(letters, length);
}

static void join(struct text *text) {
    size_t length = 0;
    char *joined = NULL;
    for (uint32_t i = 0; i < text->count; i++) {
        const struct word *word = text->words[i];
        if (i % 16 == 0) {
            joined = regrab(joined, length, length + 16 * 25);
        }
        memcpy(joined + length, word->letters, word->length);
        length += word->length;
        joined[length++] = ' ';
    }
    add_text(joined, length);
    drop(joined);
    for (uint32_t i = 0; i < text->count; i++) {
        release(text->words[i]);
    }
    drop(text->words);
    *text = (struct text){0};
}

int main(int count, char **arguments) {
    start(count, arguments);
    for (uint32_t step = 0; step < STEPS; step++) {
        struct text *text = &texts[random_below(TEXTS)];
        for (uint32_t left = random_below(12); left > 0; left--) {
            append(text);
        }
        if (text->count > 60 + random_below(200)) {
            join(text);
        }
    }
    for (uint32_t i = 0; i < TEXTS; i++) {
        join(&texts[i]);
    }
    drop(table);
    return finish();
}
