/*
 * cfi_expr.c - the stack machine of DWARF expressions, as far as call frame information uses it.
 *
 *     op | operands      op | operands ...        values of 64 bits, at most STACK of them
 *
 * Operations: literals, registers with offsets, memory, stack, arithmetic, comparison, branches.
 * Those about objects, calls, TLS and types have no meaning in unwind rules and end it. Branches
 * may go backwards, so steps are counted.
 */
#include "symbol/cfi.h"

#define STACK 32u
#define STEPS 1000u

enum {
    OP_ADDR = 0x03, OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONST1S, OP_CONST2U, OP_CONST2S,
    OP_CONST4U, OP_CONST4S, OP_CONST8U, OP_CONST8S, OP_CONSTU, OP_CONSTS, OP_DUP = 0x12, OP_DROP,
    OP_OVER, OP_PICK, OP_SWAP, OP_ROT, OP_ABS = 0x19, OP_AND, OP_DIV, OP_MINUS, OP_MOD, OP_MUL,
    OP_NEG, OP_NOT, OP_OR, OP_PLUS, OP_PLUS_UCONST, OP_SHL, OP_SHR, OP_SHRA, OP_XOR, OP_BRA,
    OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE, OP_SKIP, OP_LIT0 = 0x30, OP_BREG0 = 0x70,
    OP_BREGX = 0x92, OP_DEREF_SIZE = 0x94, OP_NOP = 0x96, OP_CALL_FRAME_CFA = 0x9c
};

struct state {
    const struct fm_cfi_machine *machine;
    struct fm_cursor c;
    const unsigned char *begin;
    uint64_t stack[STACK];
    unsigned n;
    bool bad;
};

static void push(struct state *s, uint64_t value)
{
    if (s->n == STACK)
        s->bad = true;
    else
        s->stack[s->n++] = value;
}

static uint64_t pop(struct state *s)
{
    if (s->n == 0) {
        s->bad = true;
        return 0;
    }
    return s->stack[--s->n];
}

/* The value k places below the top. */
static uint64_t peek(struct state *s, unsigned k)
{
    if (k >= s->n) {
        s->bad = true;
        return 0;
    }
    return s->stack[s->n - 1 - k];
}

static uint64_t reg(struct state *s, uint64_t number)
{
    if (number >= FM_CFI_REGS || (s->machine->valid >> number & 1) == 0) {
        s->bad = true;
        return 0;
    }
    return s->machine->reg[number];
}

static void load(struct state *s, unsigned size)
{
    uint64_t value = 0, address = pop(s);
    if (s->bad || size == 0 || size > 8 || !s->machine->read(s->machine->user, address, &value)) {
        s->bad = true;
        return;
    }
    if (size < 8)
        value &= (1ull << 8 * size) - 1;
    push(s, value);
}

static void jump(struct state *s, int16_t by)
{
    ptrdiff_t at = s->c.p - s->begin, to = at + by;
    if (to < 0 || to > s->c.end - s->begin)
        s->bad = true;
    else
        s->c.p = s->begin + to;
}

static uint64_t shift(uint64_t value, uint64_t by, bool left)
{
    if (by > 63)
        return 0;
    return left ? value << by : value >> by;
}

static uint64_t divide(struct state *s, uint64_t a, uint64_t b, bool rest)
{
    if (b == 0 || (!rest && (int64_t)b == -1 && (int64_t)a == INT64_MIN)) {
        s->bad = true;
        return 0;
    }
    return rest ? a % b : (uint64_t)((int64_t)a / (int64_t)b);
}

/* Two values to one; false: not such an operation. */
static bool binary(struct state *s, uint8_t op)
{
    if ((op < OP_AND || op > OP_XOR || op == OP_NEG || op == OP_NOT || op == OP_PLUS_UCONST) &&
        (op < OP_EQ || op > OP_NE))
        return false;
    uint64_t b = pop(s), a = pop(s), r = 0;
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (op) {
    case OP_AND: r = a & b; break;
    case OP_DIV: r = divide(s, a, b, false); break;
    case OP_MINUS: r = a - b; break;
    case OP_MOD: r = divide(s, a, b, true); break;
    case OP_MUL: r = a * b; break;
    case OP_OR: r = a | b; break;
    case OP_PLUS: r = a + b; break;
    case OP_SHL: r = shift(a, b, true); break;
    case OP_SHR: r = shift(a, b, false); break;
    case OP_SHRA: r = (uint64_t)(x >> FM_MIN(b, 63u)); break;
    case OP_XOR: r = a ^ b; break;
    case OP_EQ: r = x == y; break;
    case OP_GE: r = x >= y; break;
    case OP_GT: r = x > y; break;
    case OP_LE: r = x <= y; break;
    case OP_LT: r = x < y; break;
    default: r = x != y; break;
    }
    push(s, r);
    return true;
}

/* Operations that push what stands behind them; false: not such an operation. */
static bool constant(struct state *s, uint8_t op)
{
    struct fm_cursor *c = &s->c;
    if (op >= OP_LIT0 && op < OP_LIT0 + 32) {
        push(s, op - OP_LIT0);
        return true;
    }
    switch (op) {
    case OP_ADDR:
        push(s, s->machine->word == 4 ? fm_cursor_u32(c) : fm_cursor_u64(c));
        return true;
    case OP_CONST1U: push(s, fm_cursor_u8(c)); return true;
    case OP_CONST1S: push(s, (uint64_t)(int64_t)(int8_t)fm_cursor_u8(c)); return true;
    case OP_CONST2U: push(s, fm_cursor_u16(c)); return true;
    case OP_CONST2S: push(s, (uint64_t)(int64_t)(int16_t)fm_cursor_u16(c)); return true;
    case OP_CONST4U: push(s, fm_cursor_u32(c)); return true;
    case OP_CONST4S: push(s, (uint64_t)(int64_t)fm_cursor_i32(c)); return true;
    case OP_CONST8U:
    case OP_CONST8S: push(s, fm_cursor_u64(c)); return true;
    case OP_CONSTU: push(s, fm_cursor_uleb(c)); return true;
    case OP_CONSTS: push(s, (uint64_t)fm_cursor_sleb(c)); return true;
    default: return false;
    }
}

static void rotate(struct state *s)
{
    uint64_t top = pop(s), second = pop(s), third = pop(s);
    push(s, top);
    push(s, third);
    push(s, second);
}

static void other(struct state *s, uint8_t op)
{
    struct fm_cursor *c = &s->c;
    uint64_t a, b;
    if (op >= OP_BREG0 && op < OP_BREG0 + 32) {
        a = reg(s, op - OP_BREG0);
        push(s, a + (uint64_t)fm_cursor_sleb(c));
        return;
    }
    switch (op) {
    case OP_BREGX:
        a = reg(s, fm_cursor_uleb(c));
        push(s, a + (uint64_t)fm_cursor_sleb(c));
        break;
    case OP_DEREF: load(s, s->machine->word); break;
    case OP_DEREF_SIZE: load(s, fm_cursor_u8(c)); break;
    case OP_DUP: push(s, peek(s, 0)); break;
    case OP_DROP: pop(s); break;
    case OP_OVER: push(s, peek(s, 1)); break;
    case OP_PICK: push(s, peek(s, fm_cursor_u8(c))); break;
    case OP_SWAP:
        a = pop(s);
        b = pop(s);
        push(s, a);
        push(s, b);
        break;
    case OP_ROT: rotate(s); break;
    case OP_ABS:
        a = pop(s);
        push(s, (int64_t)a < 0 ? 0 - a : a);
        break;
    case OP_NEG: push(s, 0 - pop(s)); break;
    case OP_NOT: push(s, ~pop(s)); break;
    case OP_PLUS_UCONST:
        a = pop(s);
        push(s, a + fm_cursor_uleb(c));
        break;
    case OP_BRA:
        b = fm_cursor_u16(c);
        if (pop(s) != 0)
            jump(s, (int16_t)b);
        break;
    case OP_SKIP: jump(s, (int16_t)fm_cursor_u16(c)); break;
    case OP_NOP: break;
    default: s->bad = true;
    }
}

bool fm_cfi_evaluate(const struct fm_cfi_machine *machine, const unsigned char *expr, size_t n,
                     bool push_first, uint64_t first, uint64_t *value)
{
    struct state s = {.machine = machine, .begin = expr};
    unsigned steps = 0;
    fm_cursor_init(&s.c, expr, n, 0, machine->swap);
    if (push_first)
        push(&s, first);
    while (fm_cursor_left(&s.c) > 0 && !s.bad) {
        uint8_t op = fm_cursor_u8(&s.c);
        if (++steps > STEPS)
            return false;
        if (!constant(&s, op) && !binary(&s, op))
            other(&s, op);
        if (!fm_cursor_ok(&s.c))
            return false;
    }
    *value = pop(&s);
    return !s.bad;
}
