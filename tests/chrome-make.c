/*
 * chrome-make.c - writes a trace of any size whose right values are known.
 *
 *   chrome-make SHAPE MB    SHAPE, at least MB * 10^6 bytes, to standard output
 *
 *   spans   as PyTorch's profiler writes: X of 200 to 250 bytes over four threads and a GPU stream,
 *           five a unit: an operator (100.500 us), in it two more and a launch, and the kernel that
 *           is launched (20.125 us)
 *   small   as uftrace writes: B and E of 62 bytes, six a unit of 10.000 us
 *   wide    spans with 4 KiB of arguments each
 *
 * Standard error gets "events N spans N self NS": what a reader must find.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const op[] = {
    "aten::linear", "aten::addmm",  "aten::matmul",     "aten::layer_norm", "aten::softmax",
    "aten::gelu",   "aten::dropout", "aten::embedding", "aten::transpose",  "aten::view",
    "aten::copy_",  "aten::add",    "aten::mul",        "aten::sum",        "aten::cat",
    "autograd::engine::evaluate_function: AddmmBackward0"};
static const char *const kernel[] = {
    "void gemmSN_TN_kernel<float, 128, 16, 2, 4>(cublasGemmSmallNParams)",
    "void vectorized_elementwise_kernel<4, AddFunctor<float> >(int, AddFunctor<float>)",
    "void layer_norm_kernel<float, float>(int, float, float const*, float*)"};

static uint64_t written;

static void count(int n)
{
    if (n < 0)
        exit(1);
    written += (uint64_t)n;
}

/* ns as us with three decimals */
#define US "%" PRIu64 ".%03u"
#define US_OF(ns) (ns) / 1000, (unsigned)((ns) % 1000)

static void x(const char *cat, const char *name, unsigned pid, unsigned tid, uint64_t ts,
              uint64_t dur, uint64_t id, const char *key, uint64_t value, const char *more)
{
    count(printf("  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %u, "
                 "\"tid\": %u,\n    \"ts\": " US ", \"dur\": " US ",\n    \"args\": {\n      ",
                 cat, name, pid, tid, US_OF(ts), US_OF(dur)));
    count(printf("\"External id\": %" PRIu64 ", \"%s\": %" PRIu64 "%s\n    }\n  },\n", id, key,
                 value, more));
}

static void unit_spans(uint64_t i, const char *pad)
{
    unsigned thread = 5000 + (unsigned)(i % 4);
    uint64_t t = 1732107143473442569u + i / 4 * 101000;
    static const char seq[] = "Sequence number", corr[] = "correlation";
    x("cpu_op", op[i % 16], 5000, thread, t, 100500, i, seq, i / 3, pad);
    x("cpu_op", op[(i + 5) % 16], 5000, thread, t + 1250, 60000, i + 1, seq, i / 3, pad);
    x("cuda_runtime", "cudaLaunchKernel", 5000, thread, t + 5000, 10125, i + 1, corr, i,
      ", \"cbid\": 211");
    x("kernel", kernel[i % 3], 0, 7, t + i % 4 * 25000, 20125, i + 1, corr, i,
      ", \"device\": 0, \"stream\": 7, \"registers per thread\": 32, \"grid\": [128, 1, 1]");
    x("cpu_op", op[(i + 9) % 16], 5000, thread, t + 70000, 30000, i + 2, seq, i / 3, pad);
}

static void be(char ph, const char *name, uint64_t ns)
{
    count(printf("{\"ts\":" US ",\"ph\":\"%c\",\"pid\":4613,\"name\":\"%s\"},\n", US_OF(ns), ph,
                 name));
}

static void unit_small(uint64_t i)
{
    uint64_t t = 4955376737000u + i * 10000;
    be('B', op[i % 16] + 6, t);
    be('B', "malloc", t + 328);
    be('E', "malloc", t + 2492);
    be('B', "rand", t + 2973);
    be('E', "rand", t + 5428);
    be('E', op[i % 16] + 6, t + 10000);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 16], pad[4200];
    if (argc != 3) {
        fprintf(stderr, "usage: chrome-make spans|small|wide MB\n");
        return 2;
    }
    int small = strcmp(argv[1], "small") == 0, wide = strcmp(argv[1], "wide") == 0;
    uint64_t bytes = strtoull(argv[2], NULL, 10) * 1000000, i = 0;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    snprintf(pad, sizeof pad, ", \"Fwd thread id\": 0");
    if (wide) {
        size_t n = (size_t)snprintf(pad, sizeof pad, ", \"Fwd thread id\": 0, \"Input\": \"");
        memset(pad + n, 'x', 4096);
        snprintf(pad + n + 4096, sizeof pad - n - 4096, "\"");
    }
    count(printf("{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n"));
    for (; written < bytes; i++) {
        if (small)
            unit_small(i);
        else
            unit_spans(i, pad);
    }
    count(printf("  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 5000, \"tid\": 0, "
                 "\"args\": {\"name\": \"python\"}}\n  ],\n  \"traceName\": \"made\"\n}\n"));
    if (fflush(stdout) != 0)
        return 1;
    fprintf(stderr, "events %" PRIu64 " spans %" PRIu64 " self %" PRIu64 "\n",
            i * (small ? 6 : 5) + 1, i * (small ? 3 : 5), i * (small ? 10000 : 100500 + 20125));
    return 0;
}
