/*
 * fuzz_jitdump.c - any bytes as a jitdump file. What is kept is in order and consistent, whatever
 * the records said.
 */
#include "symbol/jitdump.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "jitdump";

static void demand(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_input *input;
    struct fm_jitdump dump;

    if (ctx == NULL)
        return 0;
    fm_ctx_set_cap(ctx, FM_CAP_INFLATED, (uint64_t)4 << 20);
    if (fm_input_open_memory(ctx, data, n, "fuzz", &input, NULL) == FM_OK) {
        (void)fm_jitdump_read(&dump, ctx, input, NULL);
        demand(dump.valid || dump.codes == 0);
        for (size_t i = 0; i < dump.codes; i++) {
            const struct fm_jitdump_code *code = &dump.code[i];
            demand(i == 0 || code[-1].time <= code->time);
            demand(code->start < code->end && code->name[0] != '\0');
            demand(code->line <= dump.lines && code->lines <= dump.lines - code->line);
            for (size_t k = 1; k < code->lines; k++)
                demand(dump.line[code->line + k - 1].address <= dump.line[code->line + k].address);
            (void)fm_jitdump_line(&dump, code, code->end - 1);
        }
        fm_jitdump_release(&dump);
        fm_input_free(input);
    }
    demand(atomic_load(&ctx->mem.used) == 0);
    fm_ctx_free(ctx);
    return 0;
}
