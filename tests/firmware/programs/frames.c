// Frames of several channels, in structures without pointers or longs: their sizes are equal on
// every machine. Channels name frames by their places in one table that is not in the heap.
#include "program.h"

#define PLACES 3600u
#define STEPS 30000u

struct frame {
    uint64_t time;
    uint32_t channel;
    uint32_t length;
    uint8_t bytes[];
};

static struct frame *frames[PLACES];

static struct frame *received(uint32_t step) {
    static const uint16_t lengths[] = {8, 24, 48, 64, 96, 128, 240, 400};
    const uint32_t kind = random_below(8);
    const uint32_t most = random_below(6) == 0 ? lengths[kind] + random_below(64) : lengths[kind];
    struct frame *frame = grab(sizeof *frame + most);
    frame->time = step;
    frame->channel = kind;
    frame->length = most;
    memset(frame->bytes, (int)(step & 0xff), most);
    return frame;
}

static void send(struct frame *frame) {
    add((uint32_t)frame->time);
    add(frame->channel);
    for (uint32_t i = 0; i < frame->length; i++) {
        if (frame->bytes[i] != (frame->time & 0xff)) {
            add(0xdeadbeefu);
        }
    }
    drop(frame);
}

int main(int count, char **arguments) {
    start(count, arguments);
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t place = random_below(PLACES);
        if (frames[place] == NULL) {
            frames[place] = received(step);
        } else if (random_below(3) == 0) {
            // Its content moves on in a frame of another length.
            struct frame *frame = frames[place];
            const uint32_t length = 8 + random_below(300);
            frame = regrab(frame, sizeof *frame + frame->length, sizeof *frame + length);
            memset(frame->bytes, (int)(frame->time & 0xff), length);
            frame->length = length;
            frames[place] = frame;
        } else {
            send(frames[place]);
            frames[place] = NULL;
        }
    }
    for (uint32_t place = 0; place < PLACES; place++) {
        if (frames[place] != NULL) {
            send(frames[place]);
        }
    }
    return finish();
}
