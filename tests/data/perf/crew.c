/*
 * crew.c - a program that forks and renames itself, for crew.perf.data.
 *
 *     crew   forks two children, then turns 1 share
 *       mate-1   names itself, turns 2 shares
 *       mate-2   names itself, turns 3 shares and touches 16 fresh pages
 *
 * No library is linked: what is counted is what stands here.
 */
#define APART __attribute__((noinline, noclone))
#define TURN 100000000ul

static long call3(long number, long a, long b, long c)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return r;
}

static APART void turn(unsigned long shares)
{
    for (unsigned long n = shares * TURN; n > 0; n--)
        __asm__ volatile("" : "+r"(n));
}

static char page[16 * 4096] __attribute__((aligned(4096)));

static APART void touch(void)
{
    for (unsigned i = 0; i < sizeof page; i += 4096)
        *(volatile char *)(page + i) = 1;
}

static APART void mate(const char *name, unsigned long shares)
{
    call3(157, 15, (long)name, 0);      /* prctl(PR_SET_NAME) */
    turn(shares);
    if (shares == 3)
        touch();
    call3(60, 0, 0, 0);
}

int main(void);
APART int main(void)
{
    if (call3(57, 0, 0, 0) == 0)        /* fork */
        mate("mate-1", 2);
    if (call3(57, 0, 0, 0) == 0)
        mate("mate-2", 3);
    turn(1);
    call3(61, -1, 0, 0);                /* wait4, twice */
    call3(61, -1, 0, 0);
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
