// Shortest paths in graphs of linked nodes and edges, with a queue of candidates per search.
#include "program.h"

#define NODES 220u
#define GRAPHS 5u
#define SEARCHES 8u

struct edge {
    struct edge *next;
    struct node *to;
    uint32_t length;
};

struct node {
    struct edge *edges;
    struct node *from;
    uint32_t distance;
    uint16_t number;
    uint8_t is_done;
};

struct candidate {
    struct candidate *next;
    struct node *node;
    struct node *from;
    uint32_t distance;
};

static struct node *nodes[NODES];

static void connect(struct node *a, struct node *b) {
    struct edge *edge = grab(sizeof *edge);
    *edge = (struct edge){a->edges, b, 1 + random_below(1000)};
    a->edges = edge;
}

static void make(void) {
    for (uint16_t i = 0; i < NODES; i++) {
        nodes[i] = grab_zeros(1, sizeof *nodes[i]);
        nodes[i]->number = i;
        for (uint32_t left = i == 0 ? 0 : 1 + random_below(4); left > 0; left--) {
            struct node *other = nodes[random_below(i)];
            connect(nodes[i], other);
            connect(other, nodes[i]);
        }
    }
}

static struct candidate *insert(struct candidate *queue, struct node *node, struct node *from,
                                uint32_t distance) {
    struct candidate *new_one = grab(sizeof *new_one), **place = &queue;
    while (*place != NULL && (*place)->distance <= distance) {
        place = &(*place)->next;
    }
    *new_one = (struct candidate){*place, node, from, distance};
    *place = new_one;
    return queue;
}

static void search(struct node *begin, struct node *end) {
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i]->is_done = 0;
    }
    struct candidate *queue = insert(NULL, begin, NULL, 0);
    while (queue != NULL) {
        struct candidate *best = queue;
        struct node *node = best->node;
        queue = best->next;
        if (!node->is_done && !end->is_done) {
            node->is_done = 1;
            node->from = best->from;
            node->distance = best->distance;
            for (struct edge *edge = node->edges; edge != NULL; edge = edge->next) {
                if (!edge->to->is_done) {
                    queue = insert(queue, edge->to, node, node->distance + edge->length);
                }
            }
        }
        drop(best);
    }
    uint32_t hops = 0;
    for (struct node *node = end; node != begin; node = node->from) {
        hops++;
    }
    // The path, as a list that the caller of a library would get.
    uint16_t *path = grab((hops + 1) * sizeof *path);
    uint32_t left = hops;
    for (struct node *node = end; node != begin; node = node->from) {
        path[left--] = node->number;
    }
    path[0] = begin->number;
    for (uint32_t i = 0; i <= hops; i++) {
        add(path[i]);
    }
    add(end->distance);
    drop(path);
}

static void unmake(void) {
    for (uint32_t i = 0; i < NODES; i++) {
        while (nodes[i]->edges != NULL) {
            struct edge *edge = nodes[i]->edges;
            nodes[i]->edges = edge->next;
            drop(edge);
        }
        drop(nodes[i]);
    }
}

int main(int count, char **arguments) {
    start(count, arguments);
    for (uint32_t graph = 0; graph < GRAPHS; graph++) {
        make();
        for (uint32_t i = 0; i < SEARCHES; i++) {
            struct node *begin = nodes[random_below(NODES)];
            search(begin, nodes[random_below(NODES)]);
        }
        unmake();
    }
    return finish();
}
