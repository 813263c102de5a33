// Parses documents of its own making into values with pointers, walks them and frees them.
#include "program.h"

#define TEXT_BYTES_MAX 16384u
#define DOCUMENTS 30u

struct value {
    struct value *next;
    struct value *first;  // first member of a list or an object
    char *name;           // in an object
    char *text;
    uint32_t number;
    uint8_t kind;  // '[', '{', '"' or '0'
};

static char text[TEXT_BYTES_MAX];
static size_t length;
static const char *at;

static void write_word(void) {
    text[length++] = '"';
    for (uint32_t left = 1 + random_below(random_below(5) == 0 ? 60 : 12); left > 0; left--) {
        text[length++] = (char)('a' + random_below(26));
    }
    text[length++] = '"';
}

static void write_value(uint32_t depth) {
    const uint32_t what = depth == 0 ? random_below(2) : random_below(7);
    if (what < 2 && depth < 6 && length < TEXT_BYTES_MAX / 2) {
        const char *ends = what == 0 ? "[]" : "{}";
        text[length++] = ends[0];
        const uint32_t count = depth == 0 ? 30 + random_below(40) : random_below(8);
        for (uint32_t i = 0; i < count; i++) {
            if (i > 0) {
                text[length++] = ',';
            }
            if (what == 1) {
                write_word();
                text[length++] = ':';
            }
            write_value(depth + 1);
        }
        text[length++] = ends[1];
    } else if (what < 4) {
        write_word();
    } else {
        for (uint32_t left = 1 + random_below(5); left > 0; left--) {
            text[length++] = (char)('1' + random_below(9));
        }
    }
}

static char *parse_word(void) {
    const char *begin = ++at;
    while (*at != '"') {
        at++;
    }
    const size_t used = (size_t)(at++ - begin);
    char *word = grab(used + 1);
    memcpy(word, begin, used);
    word[used] = '\0';
    return word;
}

static struct value *parse_value(void) {
    struct value *value = grab_zeros(1, sizeof *value);
    value->kind = (uint8_t)(*at == '[' || *at == '{' || *at == '"' ? *at : '0');
    if (value->kind == '"') {
        value->text = parse_word();
    } else if (value->kind == '0') {
        while (*at >= '0' && *at <= '9') {
            value->number = value->number * 10 + (uint32_t)(*at++ - '0');
        }
    } else {
        struct value **last = &value->first;
        at++;
        while (*at != ']' && *at != '}') {
            char *name = NULL;
            if (value->kind == '{') {
                name = parse_word();
                at++;
            }
            *last = parse_value();
            (*last)->name = name;
            last = &(*last)->next;
            at += *at == ',';
        }
        at++;
    }
    return value;
}

static void free_value(struct value *value) {
    while (value->first != NULL) {
        struct value *first = value->first;
        value->first = first->next;
        free_value(first);
    }
    add(value->kind + value->number);
    if (value->name != NULL) {
        add_text(value->name, strlen(value->name));
        drop(value->name);
    }
    if (value->text != NULL) {
        add_text(value->text, strlen(value->text));
        drop(value->text);
    }
    drop(value);
}

int main(int count, char **arguments) {
    static struct value *kept[4];
    start(count, arguments);
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        length = 0;
        write_value(0);
        text[length] = '\0';
        at = text;
        struct value **place = &kept[random_below(4)];
        if (*place != NULL) {
            free_value(*place);
        }
        *place = parse_value();
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (kept[i] != NULL) {
            free_value(kept[i]);
        }
    }
    return finish();
}
