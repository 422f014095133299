/*
 * work.c - independent jobs on a few threads. Workers take the next job index from one counter, so
 * long and short jobs balance; results are joined by index afterwards, so the order of running
 * does not show.
 */
#include "util/work.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_THREADS 64

struct crew {
    atomic_size_t next;
    size_t n;
    void (*fn)(void *user, size_t i);
    void *user;
};

static void *worker(void *arg)
{
    struct crew *crew = arg;
    size_t i;

    while ((i = atomic_fetch_add(&crew->next, 1)) < crew->n)
        crew->fn(crew->user, i);
    return NULL;
}

void fm_work_run(unsigned threads, size_t n, void (*fn)(void *user, size_t i), void *user)
{
    struct crew crew = {.n = n, .fn = fn, .user = user};
    pthread_t thread[MAX_THREADS];
    unsigned made = 0;

    atomic_init(&crew.next, 0);
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    /* the caller is one of the workers */
    while (made + 1 < threads && made + 1 < n) {
        if (pthread_create(&thread[made], NULL, worker, &crew) != 0)
            break;
        made++;
    }
    worker(&crew);
    for (unsigned t = 0; t < made; t++)
        pthread_join(thread[t], NULL);
}
