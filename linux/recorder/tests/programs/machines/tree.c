// A tree of nodes with several pointers each, and messages between them: one thread, so that every
// run of it on one machine is the same. Prints the size of a node and of a message, and how many of
// each were made.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NODES_COUNT 150u

enum kind { LEAF, INNER };

struct message {
    struct message *next;
    const char *topic;
    uint64_t number;
};

struct node {
    struct node *left, *right, *parent;
    struct message *inbox;
    char *name;
    uint64_t weight;
    enum kind kind;
    time_t changed;
};

static uint32_t state = 2463534242u;
static unsigned nodes_count, messages_count;

static uint32_t next_number(void) {
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}

static struct node *insert(struct node *root, uint64_t weight) {
    struct node **at = &root, *parent = NULL;
    while (*at != NULL) {
        parent = *at;
        parent->kind = INNER;
        at = weight < parent->weight ? &parent->left : &parent->right;
    }
    *at = calloc(1, sizeof **at);
    nodes_count++;
    (*at)->parent = parent;
    (*at)->weight = weight;
    (*at)->name = malloc(3 + weight % 29);
    strcpy((*at)->name, "n");
    return root;
}

static void send(struct node *node, uint64_t number) {
    for (; node != NULL; node = number & 1 ? node->left : node->right, number >>= 1) {
        struct message *message = malloc(sizeof *message);
        messages_count++;
        *message = (struct message){node->inbox, node->name, number};
        node->inbox = message;
    }
}

static uint64_t drain(struct node *node) {
    uint64_t sum = 0;
    while (node->inbox != NULL) {
        struct message *message = node->inbox;
        sum += message->number ^ (unsigned char)message->topic[0];
        node->inbox = message->next;
        free(message);
    }
    return sum;
}

static uint64_t destroy(struct node *node) {
    if (node == NULL) {
        return 0;
    }
    const uint64_t sum = destroy(node->left) + destroy(node->right) + drain(node);
    free(node->name);
    free(node);
    return sum;
}

int main(void) {
    struct node *root = NULL;
    uint64_t sum = 0;
    for (unsigned i = 0; i < NODES_COUNT; i++) {
        root = insert(root, next_number());
        send(root, next_number());
        sum += i % 3 == 0 ? drain(root) : 0;
    }
    sum += destroy(root);
    printf("%zu %u\n%zu %u\n", sizeof(struct node), nodes_count, sizeof(struct message),
           messages_count);
    fprintf(stderr, "sum %llu\n", (unsigned long long)sum);
    return 7;
}
