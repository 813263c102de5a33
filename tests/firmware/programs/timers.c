// Events that fire at their time: an array of pointers that grows by realloc, ordered as a heap.
#include "program.h"

#define STEPS 5000u

struct event {
    void (*fire)(struct event *event);
    char *payload;
    uint32_t time;
    uint32_t order;  // events of one time fire in the order of their creation
    uint16_t length;
};

static struct event **queue;
static uint32_t count, room, now, created;

static int is_before(const struct event *a, const struct event *b) {
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void push(struct event *event) {
    if (count == room) {
        const uint32_t wanted = room == 0 ? 16 : room + room / 2;
        queue = regrab(queue, room * sizeof *queue, wanted * sizeof *queue);
        room = wanted;
    }
    uint32_t place = count++;
    while (place > 0 && is_before(event, queue[(place - 1) / 2])) {
        queue[place] = queue[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    queue[place] = event;
}

static struct event *pop(void) {
    struct event *first = queue[0], *last = queue[--count];
    uint32_t place = 0;
    while (2 * place + 1 < count) {
        uint32_t child = 2 * place + 1;
        if (child + 1 < count && is_before(queue[child + 1], queue[child])) {
            child++;
        }
        if (!is_before(queue[child], last)) {
            break;
        }
        queue[place] = queue[child];
        place = child;
    }
    queue[place] = last;
    if (count < room / 3 && room > 16) {
        queue = regrab(queue, room * sizeof *queue, room / 2 * sizeof *queue);
        room /= 2;
    }
    return first;
}

// In a time below DELAY, with a payload of LEAST bytes and a random number below MORE.
static void schedule(void (*fire)(struct event *), uint32_t delay, uint32_t least, uint32_t more) {
    struct event *event = grab(sizeof *event);
    const uint32_t time = now + 1 + random_below(delay), length = least + random_below(more);
    *event = (struct event){fire, NULL, time, created++, (uint16_t)length};
    if (length > 0) {
        event->payload = grab(length);
        memset(event->payload, (int)(event->order & 0xff), length);
    }
    push(event);
}

static void fire_once(struct event *event) {
    add(event->order);
    add_text(event->payload, event->length);
}

static void fire_again(struct event *event) {
    add(event->order + 1);
    if (random_below(8) != 0) {
        schedule(fire_again, 90, 0, 1);
    }
}

// Many events at once, as after a connection came back.
static void fire_burst(struct event *event) {
    add(event->order + 2);
    for (uint32_t left = 20 + random_below(60); left > 0; left--) {
        schedule(fire_once, 40, 8, 40);
    }
}

int main(int words_count, char **arguments) {
    start(words_count, arguments);
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t what = random_below(64);
        if (what == 0) {
            schedule(fire_burst, 20, 0, 1);
        } else if (what < 8) {
            schedule(fire_again, 60, 0, 1);
        } else if (what < 24) {
            schedule(fire_once, 50, 4, 60);
        }
        now++;
        while (count > 0 && queue[0]->time <= now) {
            struct event *event = pop();
            event->fire(event);
            drop(event->payload);
            drop(event);
        }
    }
    while (count > 0) {
        struct event *event = pop();
        add(event->time);
        drop(event->payload);
        drop(event);
    }
    drop(queue);
    return finish();
}
