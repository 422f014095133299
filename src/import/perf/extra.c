/*
 * extra.c - memory and branch samples: see extra.h.
 *
 * data_src, 64 bits from the least significant one (a big-endian writer begins at the other end):
 *
 *      0 op 5        1 N/A 2 load 4 store 8 prefetch 16 exec
 *      5 level 14    1 N/A 2 hit 4 miss 8 L1 0x10 LFB 0x20 L2 0x40 L3 0x80 local RAM
 *                    0x100 0x200 remote RAM 0x400 0x800 remote cache (1, 2 hops) 0x1000 I/O
 *                    0x2000 uncached
 *     19 snoop 5     1 N/A 2 none 4 hit 8 miss 16 hit modified
 *     24 lock 2      1 N/A 2 locked
 *     26 tlb 7       1 N/A 2 hit 4 miss 8 L1 16 L2 32 walker 64 fault
 *     33 level 4     by number: 1-4 L1-L4 ... 9 CXL 10 I/O 11 any cache 12 LFB 13 RAM 14 PMEM
 *     37 remote 1    38 snoop 2: 1 forwarded 2 peer    40 blocked 3: 1 N/A 2 data 4 address
 *     43 hops 3
 *
 * Flags of a branch, in the same way: 0 mispredicted, 1 predicted, 2 in a transaction, 3 abort,
 * 4 cycles 16, 20 type 4, 24 speculation 2, 26 more types 4, 30 privilege 3. Entry 0 is the newest;
 * entries of zeros are places that the hardware did not fill.
 *
 * The weight of newer events is three numbers: u32 latency of the access, u16 latency of the
 * instruction, u16 cycles until it retired. Words are those of perf mem and perf script.
 */
#include "import/perf/session.h"

#include <stdio.h>

const struct fm_field fm_perf_extra_field[FM_PERF_EXTRAS] = {
    [FM_PERF_X_OP] = {"mem_op", FM_TYPE_STRING, NULL},
    [FM_PERF_X_LEVEL] = {"mem_level", FM_TYPE_STRING, NULL},
    [FM_PERF_X_SNOOP] = {"mem_snoop", FM_TYPE_STRING, NULL},
    [FM_PERF_X_TLB] = {"mem_tlb", FM_TYPE_STRING, NULL},
    [FM_PERF_X_LOCK] = {"mem_lock", FM_TYPE_STRING, NULL},
    [FM_PERF_X_BLOCKED] = {"mem_blocked", FM_TYPE_STRING, NULL},
    [FM_PERF_X_OBJECT] = {"data_object", FM_TYPE_STRING, NULL},
    [FM_PERF_X_INSTRUCTION_LATENCY] = {"ins_lat", FM_TYPE_U64, NULL},
    [FM_PERF_X_RETIRE_LATENCY] = {"retire_lat", FM_TYPE_U64, NULL},
    [FM_PERF_X_BRANCHES] = {"branches", FM_TYPE_U64, NULL},
    [FM_PERF_X_MISPREDICTED] = {"mispredicted", FM_TYPE_U64, NULL},
    [FM_PERF_X_BRANCH_CYCLES] = {"branch_cycles", FM_TYPE_U64, NULL},
};

/* `bits` bits of a word of bit-fields, `at` counted from where the writer began. */
static unsigned bits_at(uint64_t word, bool big, unsigned at, unsigned bits)
{
    unsigned shift = big ? 64 - at - bits : at;
    return (unsigned)(word >> shift & ((1u << bits) - 1));
}

/* -------------------------------------------------------------------------- memory */

/* The words of the bits that are set, joined by " or "; `none` when none is. */
static size_t set_words(char *out, size_t n, unsigned bits, const char *const *word, size_t words,
                        const char *none)
{
    size_t at = 0;
    for (size_t i = 0; i < words; i++) {
        if ((bits >> i & 1) == 0 || word[i] == NULL)
            continue;
        at += (size_t)snprintf(out + at, n - at, "%s%s", at > 0 ? " or " : "", word[i]);
    }
    return at > 0 ? at : (size_t)snprintf(out, n, "%s", none);
}

static const char *hit_or_miss(unsigned bits)
{
    return (bits & 2) != 0 ? " hit" : (bits & 4) != 0 ? " miss" : "";
}

static const char *level_number(unsigned number)
{
    static const char *const name[16] = {NULL, "L1", "L2", "L3", "L4", "L2 MHB", "MSC", NULL,
                                         "Uncached", "CXL", "I/O", "Any cache", "LFB/MAB", "RAM",
                                         "PMEM", NULL};
    return name[number & 15];
}

static size_t level_text(uint64_t src, bool big, char *out, size_t n)
{
    static const char *const word[14] = {
        NULL, NULL, NULL, "L1", "LFB/MAB", "L2", "L3", "Local RAM", "Remote RAM (1 hop)",
        "Remote RAM (2 hops)", "Remote Cache (1 hop)", "Remote Cache (2 hops)", "I/O", "Uncached"};
    static const char *const hops[8] = {"", "core, same node ", "node, same socket ",
                                        "socket, same board ", "board ", "", "", ""};
    unsigned level = bits_at(src, big, 5, 14);
    const char *number = level_number(bits_at(src, big, 33, 4));
    size_t at;
    if ((level & ~7u) != 0)
        at = set_words(out, n, level, word, FM_COUNT(word), "");
    else if (number != NULL)
        at = (size_t)snprintf(out, n, "%s%s%s", bits_at(src, big, 37, 1) != 0 ? "Remote " : "",
                              hops[bits_at(src, big, 43, 3)], number);
    else
        return (size_t)snprintf(out, n, "N/A");
    return at + (size_t)snprintf(out + at, n - at, "%s", hit_or_miss(level));
}

size_t fm_perf_level_text(uint64_t src, char *out, size_t n)
{
    return level_text(src, false, out, n);
}

static size_t tlb_text(uint64_t src, bool big, char *out, size_t n)
{
    static const char *const word[7] = {NULL, NULL, NULL, "L1", "L2", "Walker", "Fault"};
    unsigned tlb = bits_at(src, big, 26, 7);
    if ((tlb & 0x7e) == 0)
        return (size_t)snprintf(out, n, "N/A");
    size_t at = set_words(out, n, tlb, word, FM_COUNT(word), "TLB");
    return at + (size_t)snprintf(out + at, n - at, "%s", hit_or_miss(tlb));
}

static fm_str memory_word(struct fm_perf *perf, unsigned what, uint64_t src)
{
    static const char *const op[5] = {NULL, "LOAD", "STORE", "PFETCH", "EXEC"};
    static const char *const snoop[7] = {NULL, "None", "Hit", "Miss", "HitM", "Fwd", "Peer"};
    static const char *const lock[2] = {NULL, "Yes"};
    static const char *const blocked[3] = {NULL, "Data", "Addr"};
    char text[256];
    size_t n;
    switch (what) {
    case FM_PERF_X_OP:
        n = set_words(text, sizeof text, bits_at(src, perf->big, 0, 5), op, 5, "N/A");
        break;
    case FM_PERF_X_LEVEL:
        n = level_text(src, perf->big, text, sizeof text);
        break;
    case FM_PERF_X_SNOOP:
        n = set_words(text, sizeof text,
                      bits_at(src, perf->big, 19, 5) | bits_at(src, perf->big, 38, 2) << 5, snoop,
                      7, "N/A");
        break;
    case FM_PERF_X_TLB:
        n = tlb_text(src, perf->big, text, sizeof text);
        break;
    case FM_PERF_X_LOCK:
        /* "not available" has a bit of its own: neither says that it was not locked */
        n = set_words(text, sizeof text, bits_at(src, perf->big, 24, 2), lock, 2,
                      bits_at(src, perf->big, 24, 2) != 0 ? "N/A" : "No");
        break;
    default:
        n = set_words(text, sizeof text, bits_at(src, perf->big, 40, 3), blocked, 3, "N/A");
    }
    return fm_builder_str(perf->builder, text, n);
}

/* The mapping that holds the data: a file, "[heap]", "[stack]", "//anon". */
static bool object_of(struct fm_perf *perf, const struct fm_perf_extra *extra, uint64_t *value)
{
    const struct fm_perf_process *process = &perf->machine.process[extra->process];
    uint8_t mode = extra->addr >= 0xffff800000000000u ? FM_PERF_MODE_KERNEL : FM_PERF_MODE_USER;
    const struct fm_perf_range *range =
        extra->has_addr ? fm_perf_machine_range(&perf->machine, process, mode, extra->addr) : NULL;
    if (range == NULL)
        return false;
    *value = range->name;
    return true;
}

/* ------------------------------------------------------------------------ branches */

struct branch {
    uint64_t from, to, flags;
};

/* The next entry that the hardware filled. */
static bool next_branch(struct fm_cursor *c, struct branch *b)
{
    while (fm_cursor_left(c) >= 24) {
        b->from = fm_cursor_u64(c);
        b->to = fm_cursor_u64(c);
        b->flags = fm_cursor_u64(c);
        if (b->from != 0 || b->to != 0)
            return true;
    }
    return false;
}

static void sum_branches(const struct fm_perf *perf, const struct fm_perf_extra *extra,
                         uint64_t *value)
{
    struct fm_cursor c = extra->branch;
    struct branch b;
    value[FM_PERF_X_BRANCHES] = value[FM_PERF_X_MISPREDICTED] = 0;
    value[FM_PERF_X_BRANCH_CYCLES] = 0;
    while (next_branch(&c, &b)) {
        value[FM_PERF_X_BRANCHES]++;
        value[FM_PERF_X_MISPREDICTED] += bits_at(b.flags, perf->big, 0, 1);
        value[FM_PERF_X_BRANCH_CYCLES] += bits_at(b.flags, perf->big, 4, 16);
    }
}

uint64_t fm_perf_extra_read(struct fm_perf *perf, const struct fm_perf_extra *extra,
                            uint64_t wanted, uint64_t *value)
{
    const uint64_t branches = 1ull << FM_PERF_X_BRANCHES | 1ull << FM_PERF_X_MISPREDICTED |
                              1ull << FM_PERF_X_BRANCH_CYCLES;
    uint64_t there = 0;
    for (unsigned i = FM_PERF_X_OP; extra->has_data_src && i <= FM_PERF_X_BLOCKED; i++) {
        if ((wanted >> i & 1) == 0)
            continue;
        value[i] = memory_word(perf, i, extra->data_src);
        there |= 1ull << i;
    }
    if ((wanted >> FM_PERF_X_OBJECT & 1) != 0 && object_of(perf, extra, &value[FM_PERF_X_OBJECT]))
        there |= 1ull << FM_PERF_X_OBJECT;
    if (extra->has_weights) {
        value[FM_PERF_X_INSTRUCTION_LATENCY] = extra->weight >> 32 & 0xffff;
        value[FM_PERF_X_RETIRE_LATENCY] = extra->weight >> 48;
        there |= 1ull << FM_PERF_X_INSTRUCTION_LATENCY | 1ull << FM_PERF_X_RETIRE_LATENCY;
    }
    if (extra->branches > 0 && (wanted & branches) != 0) {
        sum_branches(perf, extra, value);
        there |= branches;
    }
    return there & wanted;
}

enum { B_TIME, B_STACK, B_THREAD, B_COMM, B_CPU, B_MISPREDICTED, B_CYCLES, B_TYPE, B_IN_TX,
       B_ABORT, B_FIELDS };

static bool declare(struct fm_perf *perf, struct fm_perf_branch_class *class)
{
    static const struct fm_field field[B_FIELDS] = {
        [B_TIME] = {"time", FM_TYPE_TIME, NULL},      [B_STACK] = {"stack", FM_TYPE_STACK, NULL},
        [B_THREAD] = {"thread", FM_TYPE_THREAD, NULL}, [B_COMM] = {"comm", FM_TYPE_STRING, NULL},
        [B_CPU] = {"cpu", FM_TYPE_I64, NULL},
        [B_MISPREDICTED] = {"mispredicted", FM_TYPE_U64, NULL},
        [B_CYCLES] = {"branch_cycles", FM_TYPE_U64, NULL},
        [B_TYPE] = {"branch_type", FM_TYPE_STRING, NULL},
        [B_IN_TX] = {"in_tx", FM_TYPE_BOOL, NULL},    [B_ABORT] = {"abort", FM_TYPE_BOOL, NULL}};
    const struct fm_import_options *options = perf->import->options;
    class->declared = true;
    fm_binding_only(perf->binding, options != NULL ? options->events : NULL);
    class->class_id =
        fm_class_declare(perf->binding, "branch/stack", field, B_FIELDS, 0, NULL);
    fm_binding_only(perf->binding, NULL);
    return class->class_id != -2 || fm_perf_fail(perf, FM_NOMEM);
}

static const char *type_word(unsigned type, unsigned more)
{
    static const char *const word[16] = {
        NULL, "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET",
        "COND_CALL", "COND_RET", "ERET", "IRQ", "SERROR", "NO_TX", NULL};
    static const char *const extended[8] = {"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1",
                                            "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5"};
    return type < 15 ? word[type] : more < 8 ? extended[more] : NULL;
}

static bool branch_row(struct fm_perf *perf, const struct fm_perf_extra *extra,
                       const struct fm_perf_branch_row *row, const struct branch *b)
{
    uint64_t value[B_FIELDS] = {row->time, 0, row->thread, row->comm, row->cpu};
    uint64_t present = 1ull << B_STACK | 1ull << B_MISPREDICTED | 1ull << B_CYCLES |
                       1ull << B_IN_TX | 1ull << B_ABORT;
    uint64_t known = 1ull << B_TIME | 1ull << B_THREAD | 1ull << B_COMM | 1ull << B_CPU;
    const uint64_t leaf_first[2] = {b->to, b->from};
    const char *type = type_word(bits_at(b->flags, perf->big, 20, 4),
                                 bits_at(b->flags, perf->big, 26, 4));
    fm_node stack = fm_perf_stack(perf, extra->process, FM_PERF_CHAIN_BRANCH, leaf_first, 2);
    if (stack == FM_NONE)
        return perf->status == FM_OK;
    for (uint64_t left = known; left != 0; left &= left - 1)
        if (value[__builtin_ctzll(left)] != UINT64_MAX)
            present |= left & -left;
    value[B_STACK] = stack;
    value[B_MISPREDICTED] = bits_at(b->flags, perf->big, 0, 1);
    value[B_CYCLES] = bits_at(b->flags, perf->big, 4, 16);
    value[B_IN_TX] = bits_at(b->flags, perf->big, 2, 1);
    value[B_ABORT] = bits_at(b->flags, perf->big, 3, 1);
    if (type != NULL) {
        value[B_TYPE] = fm_builder_str(perf->builder, type, strlen(type));
        present |= 1ull << B_TYPE;
    }
    return fm_event(perf->binding, perf->branch_class.class_id, value, &present) != UINT64_MAX ||
           fm_builder_status(perf->builder) == FM_OK || fm_perf_fail(perf, FM_NOMEM);
}

bool fm_perf_branch_rows(struct fm_perf *perf, const struct fm_perf_extra *extra,
                         const struct fm_perf_branch_row *row)
{
    struct fm_cursor c = extra->branch;
    struct branch b;
    if (!perf->branch_class.declared && !declare(perf, &perf->branch_class))
        return false;
    while (perf->branch_class.class_id >= 0 && next_branch(&c, &b))
        if (!branch_row(perf, extra, row, &b))
            return false;
    return true;
}
