/*
 * tree.c - a program whose call tree and shares are known, for tree.perf.data.
 *
 *     _start -> main -> parse  -> lex               30 %
 *                              -> build             20 %
 *                    -> render -> layout -> measure 30 %
 *                              -> paint             20 %
 *
 * Each leaf turns the same loop, as often as its share says. No library is linked: the program is
 * small and every frame is its own.
 */
#define SHARE(percent) ((percent) * 1000000ul * SECONDS)
#ifndef SECONDS
#define SECONDS 8
#endif
#define APART __attribute__((noinline, noclone))

static void turn(unsigned long n) __attribute__((always_inline));
static inline void turn(unsigned long n)
{
    for (; n > 0; n--)
        __asm__ volatile("" : "+r"(n));
}

static APART void lex(void) { turn(SHARE(30)); }
static APART void build(void) { turn(SHARE(20)); }
static APART void measure(void) { turn(SHARE(30)); }
static APART void paint(void) { turn(SHARE(20)); }

static APART void parse(void)
{
    lex();
    build();
    __asm__ volatile("");
}

static APART void layout(void)
{
    measure();
    __asm__ volatile("");
}

static APART void render(void)
{
    layout();
    paint();
    __asm__ volatile("");
}

int main(void);
APART int main(void)
{
    parse();
    render();
    return 0;
}

/* rbp is 0 below here: that ends the chain of frame pointers. */
__asm__(".globl _start\n"
        "_start:\n"
        "\txor %ebp, %ebp\n"
        "\tcall main\n"
        "\tmov %eax, %edi\n"
        "\tmov $60, %eax\n"
        "\tsyscall\n"
        "\t.type _start, @function\n"
        "\t.size _start, . - _start\n");
