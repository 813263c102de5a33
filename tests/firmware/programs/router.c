// A router's table: routes in chains by hash, each with its next hop and its place in a list by
// age. A route has 28 bytes where pointers have 4, and 48 where they have 8.
#include "program.h"

#define BUCKETS 1024u
#define ROUTES_MAX 8700u
#define HOPS 300u
#define STEPS 30000u

struct hop {
    struct hop *next;
    char *name;
    uint32_t address;
    uint32_t users;
};

struct route {
    struct route *next;
    struct route *newer;
    struct hop *hop;
    unsigned long packets;
    uint32_t prefix;
    uint32_t age;
    uint16_t metric;
    uint8_t length;
    uint8_t flags;
};

static struct route **buckets;
static struct route *oldest, *newest;
static struct hop *hops;
static uint32_t routes_count;

static struct hop *hop_of(uint32_t address) {
    for (struct hop *hop = hops; hop != NULL; hop = hop->next) {
        if (hop->address == address) {
            hop->users++;
            return hop;
        }
    }
    struct hop *hop = grab(sizeof *hop);
    const uint32_t length = 6 + random_below(30);
    hop->name = grab(length + 1);
    memset(hop->name, (int)('a' + address % 26), length);
    hop->name[length] = '\0';
    hop->address = address;
    hop->users = 1;
    hop->next = hops;
    hops = hop;
    return hop;
}

static void leave_hop(struct hop *hop) {
    if (--hop->users > 0) {
        return;
    }
    struct hop **place = &hops;
    while (*place != hop) {
        place = &(*place)->next;
    }
    *place = hop->next;
    add_text(hop->name, strlen(hop->name));
    drop(hop->name);
    drop(hop);
}

static struct route **bucket_of(uint32_t prefix) {
    return &buckets[(prefix * 2654435761u >> 8) % BUCKETS];
}

static struct route *find(uint32_t prefix) {
    struct route *route = *bucket_of(prefix);
    while (route != NULL && route->prefix != prefix) {
        route = route->next;
    }
    return route;
}

static void insert(uint32_t prefix, uint32_t step) {
    struct route *route = grab(sizeof *route);
    memset(route, 0, sizeof *route);
    route->prefix = prefix;
    route->age = step;
    route->metric = (uint16_t)random_below(1000);
    route->length = (uint8_t)(8 + random_below(24));
    route->hop = hop_of(random_below(HOPS));
    route->next = *bucket_of(prefix);
    *bucket_of(prefix) = route;
    if (newest != NULL) {
        newest->newer = route;
    } else {
        oldest = route;
    }
    newest = route;
    routes_count++;
}

static void remove_oldest(void) {
    struct route *route = oldest;
    oldest = route->newer;
    if (oldest == NULL) {
        newest = NULL;
    }
    struct route **place = bucket_of(route->prefix);
    while (*place != route) {
        place = &(*place)->next;
    }
    *place = route->next;
    add(route->prefix);
    add((uint32_t)route->packets);
    add(route->metric);
    leave_hop(route->hop);
    drop(route);
    routes_count--;
}

// An update from a neighbor: a list of prefixes, kept while they are inserted.
static void take_update(uint32_t step) {
    const uint32_t count = 1 + random_below(24);
    uint32_t *prefixes = grab(count * sizeof *prefixes);
    for (uint32_t i = 0; i < count; i++) {
        prefixes[i] = random_below(1u << 20);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct route *route = find(prefixes[i]);
        if (route == NULL && routes_count < ROUTES_MAX) {
            insert(prefixes[i], step);
        } else if (route != NULL) {
            route->packets++;
        }
    }
    drop(prefixes);
}

int main(int count, char **arguments) {
    start(count, arguments);
    buckets = grab_zeros(BUCKETS, sizeof *buckets);
    for (uint32_t step = 0; step < STEPS / 12; step++) {
        take_update(step);
        const uint32_t leaving = random_below(routes_count > ROUTES_MAX - 200 ? 60 : 14);
        for (uint32_t i = 0; i < leaving && oldest != NULL; i++) {
            remove_oldest();
        }
        for (uint32_t i = 0; i < 10; i++) {
            struct route *route = find(random_below(1u << 20));
            add(route == NULL ? 0 : route->prefix);
        }
    }
    while (oldest != NULL) {
        remove_oldest();
    }
    drop(buckets);
    return finish();
}
