/*
 * main.c - a fuzz target as an ordinary program: replays files and folders given as arguments, or
 * with none the target's own corpus, tests/fuzz/corpus/NAME. Each file is tried as it is, cut at a
 * few places, and with a few bytes changed, the same ones every time ($FUZZ_ROUNDS, default 40).
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[]; /* each target defines its own */

static unsigned long files;

static void replay_bytes(uint8_t *data, size_t n, unsigned long rounds)
{
    uint32_t x = 2463534242u;
    LLVMFuzzerTestOneInput(data, n);
    for (size_t i = 0; i < 8; i++)
        LLVMFuzzerTestOneInput(data, n * i / 8);
    uint8_t *copy = malloc(n + 1);
    for (unsigned long i = 0; copy != NULL && n > 0 && i < rounds; i++) {
        memcpy(copy, data, n);
        for (size_t k = 0; k <= n / 100; k++) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5;
            copy[x % n] = (uint8_t)(x >> 16);
        }
        LLVMFuzzerTestOneInput(copy, n);
    }
    free(copy);
    files++;
}

static int replay(const char *path, unsigned long rounds)
{
    char name[4096];
    DIR *dir = opendir(path);
    if (dir != NULL) {
        int bad = 0;
        for (struct dirent *e; (e = readdir(dir)) != NULL;) {
            snprintf(name, sizeof name, "%s/%s", path, e->d_name);
            if (e->d_name[0] != '.')
                bad |= replay(name, rounds);
        }
        closedir(dir);
        return bad;
    }
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc((size_t)64 << 20);
    if (f == NULL || data == NULL) {
        printf("%s: cannot be read\n", path);
        return 1;
    }
    size_t n = fread(data, 1, (size_t)64 << 20, f);
    fclose(f);
    uint8_t *exact = realloc(data, n + 1); /* so that sanitizers see the end */
    replay_bytes(exact != NULL ? exact : data, n, rounds);
    free(exact != NULL ? exact : data);
    return 0;
}

int main(int argc, char **argv)
{
    const char *top = getenv("top_srcdir"), *set = getenv("FUZZ_ROUNDS");
    unsigned long rounds = set != NULL ? strtoul(set, NULL, 10) : 40;
    char corpus[4096];
    int bad = 0;
    snprintf(corpus, sizeof corpus, "%s/tests/fuzz/corpus/%s", top != NULL ? top : ".", fuzz_name);
    for (int i = 1; i < argc; i++)
        bad |= replay(argv[i], rounds);
    if (argc == 1)
        bad = replay(corpus, rounds);
    printf("%lu files replayed\n", files);
    return bad != 0 || files == 0;
}
