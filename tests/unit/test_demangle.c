/*
 * test_demangle.c - readable names: a table by language, limits, names made to explode.
 */
#include "symbol/demangle.h"

#include <check.h>
#include <stdio.h>
#include <time.h>

static struct fm_mem mem;
static struct fm_out out;

static void setup(void)
{
    fm_mem_init(&mem, 0);
    ck_assert_int_eq(fm_out_init(&out, &mem, NULL), FM_OK);
}

static void teardown(void)
{
    fm_out_release(&out);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}

static const char *demangled(const char *name, enum fm_demangle style)
{
    out.n = 0;
    if (!fm_demangle(&out, name, strlen(name), style)) {
        ck_assert_uint_eq(out.n, 0);
        return NULL;
    }
    fm_out_char(&out, '\0');
    return out.buf;
}

static const struct {
    const char *name, *brief, *full;      /* NULL: stays raw */
} table[] = {
    /* C++; short as perf 6.1 prints it, full as perf 6.12 does */
    { "_ZN4demoplERKNS_5ShapeES2_", "demo::operator+",
      "demo::operator+(demo::Shape const&, demo::Shape const&)" },
    { "_ZN1a3barEv.cold", "a::bar", "a::bar() [clone .cold]" },
    { "_ZNK4demo6detail5MixerIjLj600EE3mixEj.isra.0",
      "demo::detail::Mixer<unsigned int, 600u>::mix",
      "demo::detail::Mixer<unsigned int, 600u>::mix(unsigned int) const [clone .isra.0]" },
    { "_ZNSaIcED1Ev@@GLIBCXX_3.4", "std::allocator<char>::~allocator@@GLIBCXX_3.4",
      "std::allocator<char>::~allocator()@@GLIBCXX_3.4" },
    { "_ZNSt6chrono3_V212steady_clock3nowEv@plt", "std::chrono::_V2::steady_clock::now@plt",
      "std::chrono::_V2::steady_clock::now()@plt" },
    { "_Znwm", "operator new", "operator new(unsigned long)" },
    { "_ZGVZ4mainE1x", "guard variable for main::x", "guard variable for main::x" },
    /* Rust, legacy and v0: the hash is dropped in both styles */
    { "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17hb6e30565f2a810ddE.llvm.59985",
      "std::rt::lang_start::{{closure}}", "std::rt::lang_start::{{closure}}" },
    { "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", "core::fmt::write" },
    { "_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example", "mycrate::example" },
    { "_RNvXsd_NtNtNtCsgEmfK2I1SDS_4core3fmt3num3impyNtB9_7Display3fmt",
      "<u64 as core::fmt::Display>::fmt", "<u64 as core::fmt::Display>::fmt" },
    /* D */
    { "_D3std5stdio8toStringFZAya", "std.stdio.toString", "std.stdio.toString()" },
    { "_D8demangle4testMxFaZv", "demangle.test", "demangle.test(char) const" },
    { "_Dmain", "D main", "D main" },
    /* OCaml */
    { "camlStdlib__List__map_123", "Stdlib.List.map_123", "Stdlib.List.map_123" },
    { "camlFoo__$2b$2b_7", "Foo.++_7", "Foo.++_7" },
    /* not mangled: Go, C, and what only looks so */
    { "runtime.(*mcache).refill", NULL, NULL },
    { "main", NULL, NULL },
    { "_Zebra", NULL, NULL },
    { "_ZN", NULL, NULL },
    { "_Rust_no", NULL, NULL },
    { "camlcase", NULL, NULL },
    { "_", NULL, NULL },
    { "", NULL, NULL },
};

START_TEST(table_of_languages)
{
    for (size_t i = 0; i < FM_COUNT(table); i++) {
        const char *got = demangled(table[i].name, FM_DEMANGLE_SHORT);
        if (table[i].brief == NULL) {
            ck_assert_msg(got == NULL, "'%s' became '%s'", table[i].name, got);
            continue;
        }
        ck_assert_msg(got != NULL, "'%s' stays raw", table[i].name);
        ck_assert_str_eq(got, table[i].brief);
        ck_assert_str_eq(demangled(table[i].name, FM_DEMANGLE_FULL), table[i].full);
        ck_assert_ptr_null(demangled(table[i].name, FM_DEMANGLE_RAW));
    }
}
END_TEST

START_TEST(styles_have_names)
{
    enum fm_demangle style;

    ck_assert(fm_demangle_find("full", &style) && style == FM_DEMANGLE_FULL);
    ck_assert(fm_demangle_find("short", &style) && style == FM_DEMANGLE_SHORT);
    ck_assert(fm_demangle_find("raw", &style) && style == FM_DEMANGLE_RAW);
    ck_assert(!fm_demangle_find("brief", &style));
}
END_TEST

START_TEST(names_are_not_terminated)
{
    out.n = 0;
    ck_assert(fm_demangle(&out, "_ZN1a1bEvTRAILING", 9, FM_DEMANGLE_FULL));
    ck_assert_uint_eq(out.n, 6);
    ck_assert(memcmp(out.buf, "a::b()", 6) == 0);
    out.n = 0;
    ck_assert(!fm_demangle(&out, "_ZN1a\0001bEv", 10, FM_DEMANGLE_FULL));
}
END_TEST

/* f(T<T<T<…int…>>>), 6 KB long: an honest name. */
START_TEST(long_names_are_demangled)
{
    char name[8192];
    size_t n = 0;

    n += (size_t)snprintf(name + n, sizeof name - n, "_Z1f");
    for (int i = 0; i < 300; i++)
        n += (size_t)snprintf(name + n, sizeof name - n, "N2ns16a_rather_long_idI");
    name[n++] = 'i';
    for (int i = 0; i < 300; i++) {
        name[n++] = 'E';
        name[n++] = 'E';
    }
    name[n] = '\0';
    ck_assert_uint_gt(n, 4096);
    ck_assert_str_eq(demangled(name, FM_DEMANGLE_SHORT), "f");
    ck_assert_uint_gt(strlen(demangled(name, FM_DEMANGLE_FULL)), 4096);
}
END_TEST

/* Each substitution holds the one before it twice: 2^60 words. Left raw, and soon. */
START_TEST(exploding_names_stay_raw)
{
    static char cxx[2048], rust[2048], deep[65536];
    size_t n, m;
    clock_t start = clock();

    n = (size_t)snprintf(cxx, sizeof cxx, "_Z1f1pIiiES_IS0_S0_E");
    for (int i = 1; i < 30; i++) {
        char d = (char)(i < 10 ? '0' + i : 'A' + i - 10);
        n += (size_t)snprintf(cxx + n, sizeof cxx - n, "S_IS%c_S%c_E", d, d);
    }
    ck_assert_ptr_null(demangled(cxx, FM_DEMANGLE_FULL));
    m = (size_t)snprintf(rust, sizeof rust, "_RIC1aTjjE");
    for (int i = 0; i < 30; i++) {
        /* a tuple of two references to the tuple before it */
        static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        size_t at = i == 0 ? 4 : 8 + (size_t)(i - 1) * 8;
        char ref[8];
        if (at == 0)
            snprintf(ref, sizeof ref, "B_");
        else if (at - 1 < 62)
            snprintf(ref, sizeof ref, "B%c_", digit[at - 1]);
        else
            snprintf(ref, sizeof ref, "B%c%c_", digit[(at - 1) / 62 - 1], digit[(at - 1) % 62]);
        m += (size_t)snprintf(rust + m, sizeof rust - m, "T%s%sE", ref, ref);
    }
    snprintf(rust + m, sizeof rust - m, "E");
    (void)demangled(rust, FM_DEMANGLE_FULL);
    /* Deep nesting, short and as long as it gets. */
    for (size_t k = 512; k <= sizeof deep; k *= 2) {
        memset(deep, 'P', k);
        memcpy(deep, "_Z1f", 4);
        deep[k - 2] = 'i';
        deep[k - 1] = '\0';
        (void)demangled(deep, FM_DEMANGLE_FULL);
    }
    ck_assert_int_lt((clock() - start) / CLOCKS_PER_SEC, 5);
    ck_assert_uint_le(out.n, 300u << 10);
}
END_TEST

/* Names with one byte changed: only "ends, and gives text or nothing" is checked. */
START_TEST(changed_names_end)
{
    uint64_t seed = 7;

    for (int round = 0; round < 20000; round++) {
        char name[256];
        size_t i, n;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        i = (seed >> 33) % FM_COUNT(table);
        n = strlen(table[i].name);
        if (n == 0)
            continue;
        memcpy(name, table[i].name, n + 1);
        name[(seed >> 20) % n] = (char)(seed >> 50);
        out.n = 0;
        fm_demangle(&out, name, n, round & 1 ? FM_DEMANGLE_FULL : FM_DEMANGLE_SHORT);
        ck_assert_int_eq(out.status, FM_OK);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("demangle");
    TCase *t = tcase_create("demangle");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, table_of_languages);
    tcase_add_test(t, styles_have_names);
    tcase_add_test(t, names_are_not_terminated);
    tcase_add_test(t, long_names_are_demangled);
    tcase_add_test(t, exploding_names_stay_raw);
    tcase_add_test(t, changed_names_end);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
