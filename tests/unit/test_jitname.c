/*
 * test_jitname.c - names as JITs write them, and what is shown of them. The texts are those of
 * HotSpot's and perf-map-agent's maps, perf's jvmti agent, .NET, V8 and CPython.
 */
#include "symbol/jitname.h"
#include "util/ctx.h"

#include <check.h>
#include <stdlib.h>

static const struct {
    const char *text, *brief, *full, *file;
    uint32_t line, column;
    uint8_t kind;
} name[] = {
    /* HotSpot */
    {"void Jd.burnShapes(Jd$Area[], long)", "Jd.burnShapes", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"java.lang.Object jdk.internal.misc.Unsafe.getReferenceVolatile(java.lang.Object, long)",
     "jdk/internal/misc/Unsafe.getReferenceVolatile", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"void a.B.<init>()", "a/B.<init>", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"int a.B$$Lambda$14/0x0000000800c03000.run()", "a/B$$Lambda$14/0x0000000800c03000.run", NULL,
     NULL, 0, 0, FM_FRAME_JIT},
    {"Interpreter", "Interpreter", NULL, NULL, 0, 0, FM_FRAME_INTERPRETED},
    {"StubRoutines (1)", "StubRoutines (1)", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"I2C/C2I adapters(0xbbb)", "I2C/C2I adapters(0xbbb)", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"SafepointBlob", "SafepointBlob", NULL, NULL, 0, 0, FM_FRAME_JIT},
    /* perf-map-agent, and with inlined methods */
    {"Ljava/util/HashMap;::get", "java/util/HashMap.get", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"La/B;::m->Lc/D;::n", "a/B.m->c/D.n", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"La.B;::m", "a/B.m", NULL, NULL, 0, 0, FM_FRAME_JIT},
    /* jitdump of perf's jvmti agent */
    {"Ljava/lang/String;hashCode()I", "java/lang/String.hashCode",
     "java/lang/String.hashCode()I", NULL, 0, 0, FM_FRAME_JIT},
    {"Ljava/lang/String;", "Ljava/lang/String;", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"Loop;do it", "Loop;do it", NULL, NULL, 0, 0, FM_FRAME_JIT},
    /* .NET */
    {"void [System.Private.CoreLib] System.Threading.Thread::StartCallback()[PreJIT]",
     "System.Threading.Thread::StartCallback", "System.Threading.Thread::StartCallback()", NULL,
     0, 0, FM_FRAME_JIT},
    {"instance class [System.Private.CoreLib]System.String [App] Ns.C`1[System.__Canon]::"
     "M(class [Other]X)[OptimizedTier1]",
     "Ns.C`1[System.__Canon]::M", "Ns.C`1[System.__Canon]::M(class [Other]X)", NULL, 0, 0,
     FM_FRAME_JIT},
    {"void foo::bar(int)", "void foo::bar(int)", NULL, NULL, 0, 0, FM_FRAME_JIT},
    /* V8 */
    {"LazyCompile:*main /app/x.js:10", "main", "main", "/app/x.js", 10, 0, FM_FRAME_JIT},
    {"JS:~processTicks node:internal/process/task_queues:67:35", "processTicks", "processTicks",
     "node:internal/process/task_queues", 67, 35, FM_FRAME_INTERPRETED},
    {"JS:^get size file:///a b/c.mjs:5:12", "get size", "get size", "file:///a b/c.mjs", 5, 12,
     FM_FRAME_JIT},
    {"JS:+ /app/a b.js:1:2", "(anonymous)", "(anonymous)", "/app/a b.js", 1, 2, FM_FRAME_JIT},
    {"Eval:~ evalmachine.<anonymous>:3:1", "(anonymous)", "(anonymous)",
     "evalmachine.<anonymous>", 3, 1, FM_FRAME_INTERPRETED},
    {"JS:*wasm", "wasm", "wasm", NULL, 0, 0, FM_FRAME_JIT},
    {"Function:f x.js:7", "f", "f", "x.js", 7, 0, FM_FRAME_JIT},
    {"Builtin:ArrayForEach", "Builtin:ArrayForEach", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"RegExp:a (b):1", "RegExp:a (b):1", NULL, NULL, 0, 0, FM_FRAME_JIT},
    /* CPython */
    {"py::Cls.method:/srv/app.py", "Cls.method", "Cls.method", "/srv/app.py", 0, 0,
     FM_FRAME_PYTHON},
    {"py::<module>:<frozen importlib._bootstrap>", "<module>", "<module>",
     "<frozen importlib._bootstrap>", 0, 0, FM_FRAME_PYTHON},
    {"py::f:x.py", "f", "f", "x.py", 0, 0, FM_FRAME_PYTHON},
    {"py::", "py::", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"py::bare", "bare", "bare", NULL, 0, 0, FM_FRAME_PYTHON},
    /* mangled, and none of these */
    {"_ZN3foo3barEi", "foo::bar", "foo::bar(int)", NULL, 0, 0, FM_FRAME_JIT},
    {"(", "(", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {" (a.b)", " (a.b)", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"L;::", "L;::", NULL, NULL, 0, 0, FM_FRAME_JIT},
    {"JS:", "(anonymous)", "(anonymous)", NULL, 0, 0, FM_FRAME_JIT},
};

START_TEST(names)
{
    struct fm_ctx *ctx = fm_ctx_new();
    for (size_t i = 0; i < FM_COUNT(name); i++) {
        const char *want[] = {name[i].brief, name[i].full, name[i].text};
        for (unsigned style = 0; style < 3; style++) {
            struct fm_jit_name said;
            struct fm_out out;
            ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
            fm_jit_name(&out, name[i].text, strlen(name[i].text), (enum fm_demangle)style, &said);
            ck_assert_int_eq(fm_out_finish(&out, NULL), FM_OK);
            if (want[style] != NULL)
                ck_assert_msg(out.n == strlen(want[style]) &&
                              memcmp(out.buf, want[style], out.n) == 0, "%s: %.*s",
                              name[i].text, (int)out.n, out.buf);
            ck_assert_msg(said.kind == name[i].kind, "%s: kind %u", name[i].text, said.kind);
            ck_assert_msg(said.line == name[i].line && said.column == name[i].column,
                          "%s: line %u:%u", name[i].text, said.line, said.column);
            ck_assert_msg((said.file != NULL) == (name[i].file != NULL), "%s", name[i].text);
            if (said.file != NULL)
                ck_assert_msg(said.file_n == strlen(name[i].file) &&
                              memcmp(said.file, name[i].file, said.file_n) == 0, "%s: %.*s",
                              name[i].text, (int)said.file_n, said.file);
            fm_out_release(&out);
        }
    }
    fm_ctx_free(ctx);
}
END_TEST

/* Every piece of every text: no more than it holds is read (sanitizers see to that). */
START_TEST(pieces)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_out out;
    ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
    for (size_t i = 0; i < FM_COUNT(name); i++) {
        const size_t n = strlen(name[i].text);
        for (size_t from = 0; from < n; from++) {
            for (size_t k = 0; k <= n - from; k++) {
                struct fm_jit_name said;
                char *piece = malloc(k + (k == 0));
                memcpy(piece, name[i].text + from, k);
                out.n = 0;
                fm_jit_name(&out, piece, k, FM_DEMANGLE_SHORT, &said);
                ck_assert(k == 0 || out.n > 0);
                ck_assert(said.file == NULL || (said.file >= piece && said.file_n <= k));
                free(piece);
            }
        }
    }
    fm_out_release(&out);
    fm_ctx_free(ctx);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jitname");
    TCase *tc = tcase_create("jitname");
    SRunner *runner = srunner_create(suite);
    int failed;
    tcase_add_test(tc, names);
    tcase_add_test(tc, pieces);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
