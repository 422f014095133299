/*
 * tiny.c - a library without libc whose symbols show every rule of the lookup: see make.sh.
 *
 *     alpha          sized, global, with a local and a weak alias of the same start
 *     beta           static
 *     label_zero     assembler label without a size, reaches to the next symbol
 *     inside         label within the sized function `gamma_`
 *     hidden_label   hidden in the source, a plain local label once linked
 *     pick           IFUNC, called through the PLT (IRELATIVE)
 *     far_call       in a second code segment whose address minus offset differs from the first's;
 *                    calls ext_one (.plt), ext_two (its address is taken as well: .plt.got)
 */
extern int ext_one(int), ext_two(int);
static int beta(int x);

__attribute__((noinline)) int alpha(int x)
{
    return beta(x) + 1;
}
extern int __alpha_alias(int) __attribute__((alias("alpha")));
extern int alpha_weak_long_name(int) __attribute__((weak, alias("alpha")));

static __attribute__((noinline)) int beta(int x)
{
    return ext_one(x) * 3;
}

__asm__(".text\n"
        "label_zero:\n nop\n nop\n nop\n nop\n"
        ".hidden hidden_label\n.globl hidden_label\nhidden_label:\n nop\n nop\n"
        ".globl gamma_\n.type gamma_, @function\ngamma_:\n nop\n nop\n"
        "inside:\n nop\n nop\n ret\n.size gamma_, .-gamma_\n"
        " nop\n nop\n nop\n"
        ".globl after_gap\n.type after_gap, @function\n"
        "after_gap:\n ret\n.size after_gap, .-after_gap\n");

static int pick_a(int x)
{
    return x + 7;
}
static void *choose(void)
{
    return (void *)pick_a;
}
static int pick(int) __attribute__((ifunc("choose")));

int (*volatile taken)(int);

__attribute__((noinline, section(".far"))) int far_call(int x)
{
    taken = ext_two;
    return ext_one(x) + ext_two(x) + pick(x);
}

/* Mangled: ns::mix(int) and its clone, the parameters and the suffix are dropped in style short. */
__attribute__((noinline)) int _ZN2ns3mixEi(int x)
{
    return x ^ 5;
}
__asm__(".text\n.type _ZN2ns3mixEi.cold, @function\n_ZN2ns3mixEi.cold:\n nop\n ret\n"
        ".size _ZN2ns3mixEi.cold, .-_ZN2ns3mixEi.cold\n");
