/*
 * demo.c - the program of demo.data: a shop that fills its shelves, sorts them, and counts the
 * stock; a second process named "worker" packs parcels. It needs no library, so that every frame of
 * the recording is a function of this file.
 *
 *     gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-inline -fno-pie -no-pie \
 *         -nostdlib -static -Wl,--build-id -o /opt/demo/demo demo.c && strip -g /opt/demo/demo
 *     cd /opt/demo
 *     perf record -o demo.data --all-user -e cpu-clock -e page-faults -F 999 -g ./demo
 *
 * demo.data and sysroot/opt/demo/demo were made that way (x86-64, perf 6.1).
 */
enum { EXIT = 60, FORK = 57, WAIT = 61, PRCTL = 157, SHELVES = 20000, STOCK = 1 << 21 };

static unsigned shelf[SHELVES];
static unsigned char stock[STOCK];
static volatile unsigned sink;

static long call(long n, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

/* ------------------------------------------------------------------ shop */

static unsigned draw(unsigned seed)
{
    for (int i = 0; i < 40; i++)
        seed = seed * 1664525u + 1013904223u;
    return seed;
}

static void fill_shelves(unsigned seed)
{
    for (int i = 0; i < SHELVES; i++)
        shelf[i] = seed = draw(seed);
}

static void sift(int root, int n)
{
    for (int child = 2 * root + 1; child < n; root = child, child = 2 * root + 1) {
        unsigned t;

        if (child + 1 < n && shelf[child + 1] > shelf[child])
            child++;
        if (shelf[root] >= shelf[child])
            return;
        t = shelf[root];
        shelf[root] = shelf[child];
        shelf[child] = t;
    }
}

static void sort_shelves(void)
{
    for (int i = SHELVES / 2; i-- > 0;)
        sift(i, SHELVES);
    for (int n = SHELVES; n-- > 1;) {
        unsigned t = shelf[0];

        shelf[0] = shelf[n];
        shelf[n] = t;
        sift(0, n);
    }
}

/* Halves the range until a leaf is small: a recursion twelve deep. */
static unsigned count_range(int from, int to)
{
    unsigned sum = 0;

    if (to - from > 512)
        return count_range(from, (from + to) / 2) + count_range((from + to) / 2, to);
    for (int i = from; i < to; i++)
        sum += stock[i]++;
    return sum;
}

static void open_shop(void)
{
    for (unsigned day = 0; day < 30; day++) {
        fill_shelves(day);
        sort_shelves();
        sink += count_range(0, STOCK);
    }
}

/* ---------------------------------------------------------------- worker */

static unsigned wrap(unsigned parcel)
{
    for (int i = 0; i < 2000; i++)
        parcel = (parcel << 5 | parcel >> 27) ^ (unsigned)i;
    return parcel;
}

static void pack_parcels(void)
{
    for (unsigned i = 0; i < 60000; i++)
        sink += wrap(i);
}

void run(void);

void run(void)
{
    long child = call(FORK, 0, 0, 0, 0);

    if (child == 0) {
        call(PRCTL, 15, (long)"worker", 0, 0);
        pack_parcels();
    } else {
        open_shop();
        call(WAIT, child, 0, 0, 0);
    }
    call(EXIT, 0, 0, 0, 0);
}

/* The frame pointer is cleared, so that call chains end here. */
__asm__(".globl _start\n_start: xor %ebp, %ebp\n\tcall run\n\thlt\n"
        ".type _start, @function\n.size _start, . - _start\n");
