// A search tree whose nodes hold queues of messages. Nodes and messages come and go.
#include "program.h"

#define KEYS 2200u
#define STEPS 24000u

struct message {
    struct message *next;
    uint16_t length;
    char text[];
};

struct node {
    struct node *left, *right, *parent;
    struct message *first;
    uint32_t key;
    uint32_t priority;
    uint8_t count;
};

static struct node *root;

static void replace(struct node *old, struct node *by) {
    if (old->parent == NULL) {
        root = by;
    } else if (old->parent->left == old) {
        old->parent->left = by;
    } else {
        old->parent->right = by;
    }
    if (by != NULL) {
        by->parent = old->parent;
    }
}

static void rotate_up(struct node *node) {
    struct node *parent = node->parent;
    replace(parent, node);
    if (parent->left == node) {
        parent->left = node->right;
        if (node->right != NULL) {
            node->right->parent = parent;
        }
        node->right = parent;
    } else {
        parent->right = node->left;
        if (node->left != NULL) {
            node->left->parent = parent;
        }
        node->left = parent;
    }
    parent->parent = node;
}

static struct node *find_or_insert(uint32_t key) {
    struct node **place = &root, *parent = NULL;
    while (*place != NULL && (*place)->key != key) {
        parent = *place;
        place = key < parent->key ? &parent->left : &parent->right;
    }
    if (*place != NULL) {
        return *place;
    }
    struct node *node = grab(sizeof *node);
    *node = (struct node){.parent = parent, .key = key, .priority = key * 2654435761u};
    *place = node;
    while (node->parent != NULL && node->parent->priority < node->priority) {
        rotate_up(node);
    }
    return node;
}

static void add_message(struct node *node) {
    const uint32_t length = 4 + random_below(random_below(4) == 0 ? 160 : 40);
    struct message *message = grab(sizeof *message + length);
    message->next = node->first;
    message->length = (uint16_t)length;
    for (uint32_t i = 0; i < length; i++) {
        message->text[i] = (char)('a' + (node->key + i) % 26);
    }
    node->first = message;
    node->count++;
}

static void take_message(struct node *node) {
    struct message *message = node->first;
    node->first = message->next;
    node->count--;
    add_text(message->text, message->length);
    drop(message);
}

static void remove_node(struct node *node) {
    while (node->left != NULL || node->right != NULL) {
        struct node *left = node->left, *right = node->right;
        rotate_up(right == NULL || (left != NULL && left->priority > right->priority) ? left
                                                                                      : right);
    }
    replace(node, NULL);
    while (node->first != NULL) {
        take_message(node);
    }
    drop(node);
}

int main(int count, char **arguments) {
    start(count, arguments);
    for (uint32_t step = 0; step < STEPS; step++) {
        struct node *node = find_or_insert(random_below(KEYS));
        const uint32_t what = random_below(16);
        if (what < 9 && node->count < 4) {
            add_message(node);
        } else if (what < 14 && node->first != NULL) {
            take_message(node);
        } else if (what >= 13) {
            remove_node(node);
        }
    }
    while (root != NULL) {
        add(root->key);
        remove_node(root);
    }
    return finish();
}
