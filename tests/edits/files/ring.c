#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

/* A ring of bytes; one slot stays free to tell full from empty. */
struct ring {
    uint8_t *bytes;
    size_t   size;
    size_t   head;
    size_t   tail;
};

struct ring *ring_new(size_t size)
{
    struct ring *ring = calloc(1, sizeof *ring);

    if (ring == NULL)
        return NULL;
    ring->bytes = malloc(size + 1);
    if (ring->bytes == NULL) {
        free(ring);
        return NULL;
    }
    ring->size = size + 1;
    return ring;
}

void ring_free(struct ring *ring)
{
    if (ring == NULL)
        return;
    free(ring->bytes);
    free(ring);
}

int ring_put(struct ring *ring, uint8_t byte)
{
    size_t next = (ring->head + 1) % ring->size;

    /* Full: the oldest byte is not overwritten. */
    if (next == ring->tail)
        return -1;
    ring->bytes[ring->head] = byte;
    ring->head = next;
    return 0;
}

int ring_get(struct ring *ring, uint8_t *byte)
{
    if (ring->head == ring->tail)
        return -1;
    *byte = ring->bytes[ring->tail];
    ring->tail = (ring->tail + 1) % ring->size;
    return 0;
}

const char *ring_name(int kind)
{
    switch (kind) {
    case 0:
        return "plain\n";
    case 1:
        return "\"quoted\"\t";
    default:
        return "unknown";
    }
}
