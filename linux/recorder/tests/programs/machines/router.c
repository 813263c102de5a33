// Threads that hand routes to each other: each takes routes from a queue, resizes their hops, and
// frees them or puts them back. Prints the size of a route and how many were made.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_COUNT 3
#define ROUTES_EACH 150u

struct route {
    struct route *next;
    const char *gateway;
    uint32_t *hops;
    uint16_t hops_count;
    uint16_t turns;
    double metric;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct route *queue;
static uint64_t total;

static void put(struct route *route) {
    pthread_mutex_lock(&lock);
    route->next = queue;
    queue = route;
    pthread_mutex_unlock(&lock);
}

static struct route *take(void) {
    pthread_mutex_lock(&lock);
    struct route *route = queue;
    if (route != NULL) {
        queue = route->next;
    }
    pthread_mutex_unlock(&lock);
    return route;
}

static void turn(struct route *route) {
    route->turns++;
    route->hops_count += route->turns;
    route->hops = realloc(route->hops, route->hops_count * sizeof *route->hops);
    route->hops[route->hops_count - 1] = route->turns;
    if (route->turns < 4) {
        put(route);
        return;
    }
    __atomic_fetch_add(&total, route->hops_count, __ATOMIC_RELAXED);
    free(route->hops);
    free(route);
}

static void *work(void *unused) {
    for (unsigned i = 0; i < ROUTES_EACH; i++) {
        struct route *route = calloc(1, sizeof *route);
        route->gateway = "10.0.0.1";
        put(route);
        for (unsigned j = 0; j < 3 && (route = take()) != NULL; j++) {
            turn(route);
        }
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS_COUNT];
    for (unsigned i = 0; i < THREADS_COUNT; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (unsigned i = 0; i < THREADS_COUNT; i++) {
        pthread_join(threads[i], NULL);
    }
    for (struct route *route = take(); route != NULL; route = take()) {
        turn(route);
    }
    printf("%zu %u\n", sizeof(struct route), THREADS_COUNT * ROUTES_EACH);
    fprintf(stderr, "sum %llu\n", (unsigned long long)total);
    return 7;
}
