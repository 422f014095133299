/*
 * jfr-make.c - writes the recordings of tests/jfrfix.c and tests/jfrbad.c to files.
 *
 *     jfr-make -l            their names
 *     jfr-make NAME          one, to standard output
 *     jfr-make -a FOLDER     all, as FOLDER/NAME.jfr
 */
#include "jfrfix.h"

#include <stdio.h>
#include <string.h>

static int write_one(const struct jfr_fixture *f, FILE *to)
{
    struct jfr g = {0};
    int bad;

    f->make(&g);
    bad = fwrite(g.data, 1, g.n, to) != g.n;
    jfr_free(&g);
    return bad;
}

static int all(const struct jfr_fixture *f, const char *folder)
{
    char path[4096];
    int bad = 0;

    for (; f->name != NULL; f++) {
        FILE *to;
        if (folder == NULL) {
            printf("%s\n", f->name);
            continue;
        }
        snprintf(path, sizeof path, "%s/%s.jfr", folder, f->name);
        to = fopen(path, "wb");
        if (to == NULL || write_one(f, to) != 0 || fclose(to) != 0)
            bad = 1;
    }
    return bad;
}

int main(int argc, char **argv)
{
    const struct jfr_fixture *f;

    if (argc == 2 && strcmp(argv[1], "-l") == 0)
        return all(jfr_fixtures, NULL) | all(jfr_damages, NULL);
    if (argc == 3 && strcmp(argv[1], "-a") == 0)
        return all(jfr_fixtures, argv[2]) | all(jfr_damages, argv[2]);
    f = argc == 2 ? jfr_fixture_find(argv[1]) : NULL;
    if (f == NULL) {
        fprintf(stderr, "usage: jfr-make -l | NAME | -a FOLDER\n");
        return 2;
    }
    return write_one(f, stdout);
}
