/*
 * test_java.c - the ways to write the names of Java's classes and methods, alone and on frames.
 */
#include "store/build.h"
#include "store/java.h"
#include "store/name.h"
#include "util/error.h"

#include <check.h>
#include <stdio.h>

static struct fm_ctx *ctx;

static void setup(void)
{
    ctx = fm_ctx_new();
}

static void teardown(void)
{
    fm_ctx_free(ctx);
}

static const char *method(const char *name, bool java, unsigned style)
{
    static char text[200];
    struct fm_out out;
    ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
    fm_java_method(&out, name, strlen(name), java, style);
    snprintf(text, sizeof text, "%.*s", (int)out.n, out.n > 0 ? out.buf : "");
    fm_out_release(&out);
    return text;
}

static const char *class(const char *name, unsigned style)
{
    static char text[200];
    struct fm_out out;
    ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
    fm_java_class(&out, name, strlen(name), style);
    snprintf(text, sizeof text, "%.*s", (int)out.n, out.n > 0 ? out.buf : "");
    fm_out_release(&out);
    return text;
}

START_TEST(norm_takes_the_numbers_of_a_run)
{
    static const char *const pair[][2] = {
        {"app.Work$$Lambda$88+0x00007f5cbc009a00/27319466.run", "app.Work$$Lambda.run"},
        {"app.Work$$Lambda/0x0000000078046500.run", "app.Work$$Lambda.run"},
        {"app/Work$$Lambda$7.0x00007ff8640068e0.run", "app/Work$$Lambda.run"},
        {"Foo$$Lambda$12/1044036744.call", "Foo$$Lambda.call"},
        {"a/X$$Lambda$lambda$wrap$2$2630016632.0x00007ff8640068e0.apply", "a/X$$Lambda.apply"},
        {"java/lang/invoke/LambdaForm$MH/0x000001.invoke", "java/lang/invoke/LambdaForm$MH.invoke"},
        {"java/lang/invoke/LambdaForm$MH.0x00007fa868002400.f", "java/lang/invoke/LambdaForm$MH.f"},
        {"java.lang.invoke.LambdaForm$MH+0x00007f5cbc009400/1582071873.f",
         "java.lang.invoke.LambdaForm$MH.f"},
        {"java/lang/invoke/LambdaForm$BMH012/158.f", "java/lang/invoke/LambdaForm$BMH.f"},
        {"sun/reflect/GeneratedMethodAccessor17.invoke",
         "sun/reflect/GeneratedMethodAccessor.invoke"},
        {"jdk/internal/reflect/GeneratedConstructorAccessor2.newInstance",
         "jdk/internal/reflect/GeneratedConstructorAccessor.newInstance"},
        {"com/sun/proxy/$Proxy12.m", "com/sun/proxy/$Proxy.m"},
        {"jdk/proxy2/$Proxy34.m", "jdk/proxy/$Proxy.m"},
        {"a/S$$EnhancerBySpringCGLIB$$a1b2c3d4.f", "a/S$$EnhancerBySpringCGLIB.f"},
        {"a/S$$FastClassBySpringCGLIB$$9f.f", "a/S$$FastClassBySpringCGLIB.f"},
        {"a/Hidden/1234567.f", "a/Hidden.f"},
        /* names that have no such numbers */
        {"app/Work$Inner$1$2.f", "app/Work$Inner$1$2.f"},
        {"app/Work.lambda$go$7", "app/Work.lambda$go$7"},
        {"app/face/Dead.f", "app/face/Dead.f"},
        {"java/lang/invoke/LambdaFormEditor.f", "java/lang/invoke/LambdaFormEditor.f"},
        {"libc.so.6", "libc.so.6"},
        {"std::vector<int>::f", "std::vector<int>::f"},
        {"/usr/lib/libx.so.1", "/usr/lib/libx.so.1"},
        {"", ""}, {".", "."}, {"$$Lambda.", "$$Lambda."},
    };
    for (size_t i = 0; i < FM_COUNT(pair); i++)
        ck_assert_str_eq(method(pair[i][0], true, FM_JAVA_NORM), pair[i][1]);
}
END_TEST

START_TEST(simple_and_dot)
{
    ck_assert_str_eq(method("java/util/Map$Entry.get", true, FM_JAVA_SIMPLE), "Map$Entry.get");
    ck_assert_str_eq(method("java.util.Map$Entry.get", true, FM_JAVA_SIMPLE), "Map$Entry.get");
    ck_assert_str_eq(method("os.path.join", false, FM_JAVA_SIMPLE), "os.path.join");
    ck_assert_str_eq(method("a/W$$Lambda$1.0x0f.run", true, FM_JAVA_SIMPLE),
                     "W$$Lambda$1.0x0f.run");
    ck_assert_str_eq(method("a.W$$Lambda$1+0x0f/12.run", false, FM_JAVA_SIMPLE),
                     "W$$Lambda$1+0x0f/12.run");
    ck_assert_str_eq(method("a.W$$Lambda$1+0x0f/12.run", false, FM_JAVA_SIMPLE | FM_JAVA_NORM),
                     "W$$Lambda.run");
    ck_assert_str_eq(method("a/B.c(Lx/Y;)V", true, FM_JAVA_SIMPLE), "B.c(Lx/Y;)V");
    ck_assert_str_eq(method("a/B.c(Lx/Y;)V", true, FM_JAVA_DOT), "a.B.c(Lx/Y;)V");
    ck_assert_str_eq(method("jdk/proxy2/$Proxy3.m", true, FM_JAVA_DOT | FM_JAVA_NORM),
                     "jdk.proxy.$Proxy.m");
    ck_assert_str_eq(method("I2C/C2I adapters(0xb)", true, FM_JAVA_DOT), "I2C/C2I adapters(0xb)");
    ck_assert_str_eq(class("java.lang.String[][]", FM_JAVA_SIMPLE), "String[][]");
    ck_assert_str_eq(class("byte[]", FM_JAVA_SIMPLE | FM_JAVA_NORM), "byte[]");
    ck_assert_str_eq(class("a.W$$Lambda$95+0x00007f5cbc00c468.1865171081[]", FM_JAVA_NORM),
                     "a.W$$Lambda[]");
    ck_assert_str_eq(class("jdk.proxy2.$Proxy34", FM_JAVA_NORM), "jdk.proxy.$Proxy");
}
END_TEST

/* Pairs from async-profiler's converter. */
START_TEST(jfrconv_keeps_counters)
{
    const unsigned norm = FM_JAVA_NORM | FM_JAVA_JFRCONV, simple = FM_JAVA_SIMPLE | FM_JAVA_JFRCONV;
    ck_assert_str_eq(method("app/Work$$Lambda$3.0x00007fa868003648.run", true, norm),
                     "app/Work$$Lambda$3.run");
    ck_assert_str_eq(method("app.Work$$Lambda$88+0x00007f5cbc009a00/27319466.run", true, norm),
                     "app.Work$$Lambda$88.run");
    ck_assert_str_eq(method("app.Work$$Lambda/0x0000000054045da8.call", true, norm),
                     "app.Work$$Lambda.call");
    ck_assert_str_eq(class("app.Work$$Lambda$95+0x00007f5cbc00c468.1865171081", norm),
                     "app.Work$$Lambda$95");
    ck_assert_str_eq(class("app.Work$$Lambda$95+0x00007f5cbc00c468.1865171081", simple),
                     "app.Work$$Lambda$95+0x00007f5cbc00c468.1865171081");
    ck_assert_str_eq(method("app.Work$$Lambda$89+0x00007f5cbc009c20/1003752023.call", true, simple),
                     "app.Work$$Lambda$89+0x00007f5cbc009c20/1003752023.call");
    ck_assert_str_eq(class("java.util.HashMap$Node[]", simple), "HashMap$Node[]");
    ck_assert_str_eq(method("jdk/internal/reflect/GeneratedMethodAccessor7.invoke", true, norm),
                     "jdk/internal/reflect/GeneratedMethodAccessor7.invoke");
}
END_TEST

static struct fm_store *one_frame(struct fm_frame_row *frame, const char *function,
                                  const char *signature)
{
    struct fm_builder *b;
    struct fm_store *store;
    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    frame->module = FM_NONE;
    frame->address = UINT64_MAX;
    fm_builder_source(b, "x", "test");
    frame->function = fm_builder_str(b, function, strlen(function));
    frame->signature = fm_builder_str(b, signature, strlen(signature));
    (void)fm_builder_frame(b, frame);
    ck_assert_int_eq(fm_builder_seal(b, NULL, &store, NULL), FM_OK);
    return store;
}

static void is_named(struct fm_frame_row frame, const char *signature, const char *words,
                     const char *want)
{
    struct fm_store *store = one_frame(&frame, "a/B$$Lambda$3.0x00007fa868003648.run", signature);
    struct fm_names names = {0};
    struct fm_error err = {0};
    ck_assert_msg(fm_names_parse(&names, words, &err) == FM_OK, "%s", err.message);
    ck_assert_str_eq(fm_store_str(store, fm_name_frame(store, 0, &names), NULL), want);
    fm_store_free(store);
}

START_TEST(places_follow_the_name)
{
    const struct fm_frame_row jit = {.kind = FM_FRAME_JIT, .line = 7, .bci = 5};
    const struct fm_frame_row first = {.kind = FM_FRAME_JIT, .bci = 1};
    const struct fm_frame_row none = {.kind = FM_FRAME_JIT};
    const struct fm_frame_row native = {.kind = FM_FRAME_USER};
    is_named(jit, "(I)V", "norm,lines", "a/B$$Lambda.run:7");
    is_named(jit, "(I)V", "annotate,lines,norm,simple", "B$$Lambda.run:7_[j]");
    is_named(jit, "(I)V", "norm,bci,dot", "a.B$$Lambda.run@4");
    is_named(jit, "(I)V", "norm,bci,lines,signatures", "a/B$$Lambda.run(I)V:7@4");
    is_named(first, "(I)V", "norm,bci,lines", "a/B$$Lambda.run");
    is_named(none, "(I)V", "norm,bci,lines", "a/B$$Lambda.run");
    is_named(none, "(I)V", "jfrconv,norm,bci", "a/B$$Lambda$3.run");
    is_named(first, "(I)V", "jfrconv,norm,bci", "a/B$$Lambda$3.run");
    is_named(jit, "(I)V", "jfrconv,norm,bci,lines", "a/B$$Lambda$3.run:7");
    /* a native method of Java, by its descriptor; a C function */
    is_named(native, "()V", "norm", "a/B$$Lambda.run");
    is_named(native, "", "norm,lines,bci,signatures", "a/B$$Lambda$3.0x00007fa868003648.run");
}
END_TEST

START_TEST(unknown_words_are_told)
{
    struct fm_names names = {0};
    struct fm_error err = {0};
    ck_assert_int_eq(fm_names_parse(&names, "dot,,norm", &err), FM_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "no style of names ''"));
    fm_error_clear(&err);
    ck_assert_int_eq(fm_names_parse(&names, "flamegraph,dots", &err), FM_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "no style of names 'dots'"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("java");
    TCase *t = tcase_create("java");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, norm_takes_the_numbers_of_a_run);
    tcase_add_test(t, simple_and_dot);
    tcase_add_test(t, jfrconv_keeps_counters);
    tcase_add_test(t, places_follow_the_name);
    tcase_add_test(t, unknown_words_are_told);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
