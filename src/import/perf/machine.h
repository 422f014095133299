/*
 * machine.h - who was running and what was mapped, at the time of the record being delivered.
 *
 *     tid --> thread (incarnations) --> process --> tree of mappings --> module
 *                                                       \-> kernel modules, BPF code, kernel image
 *
 * Threads and processes are never forgotten: an exit only lets the next fork or comm with that id
 * start a new one. Each process has a `context`, a number that is never used again once a mapping
 * that it can see has changed, so (context, addresses) is a key for whole call chains.
 */
#ifndef FM_IMPORT_PERF_MACHINE_H
#define FM_IMPORT_PERF_MACHINE_H

#include "import/perf/jit.h"
#include "import/perf/maps.h"
#include "import/perf/names.h"
#include "store/build.h"

/* misc & 7 of a record, and the mode of a part of a call chain */
enum fm_perf_mode {
    FM_PERF_MODE_UNKNOWN, FM_PERF_MODE_KERNEL, FM_PERF_MODE_USER, FM_PERF_MODE_HYPERVISOR,
    FM_PERF_MODE_GUEST_KERNEL, FM_PERF_MODE_GUEST_USER
};

/* One mapping, as recorded; the value of the trees. */
struct fm_perf_range {
    uint64_t start, end;
    uint64_t delta;         /* address in the module - ip */
    uint64_t reference;     /* kernel image: recorded address of its reference symbol */
    uint64_t mnt_ns;
    fm_str name, build_id;
    fm_module module;       /* FM_NONE until a frame needs it */
    int32_t pid;
    uint32_t unwind;        /* its file, for userstack.c; FM_NONE until needed */
    uint32_t generation;
    uint32_t code;          /* of a jitdump: its number + 1 */
    uint8_t kind;           /* enum fm_module_kind */
};

struct fm_perf_process {
    int32_t pid;
    struct fm_perf_tree maps;
    uint64_t context;
    uint64_t kernel_epoch;  /* of the kernel's mappings when context was given */
    uint64_t mnt_ns;
    fm_str name;            /* comm of its main thread; 0 unknown */
    struct fm_perf_tree code;    /* of jitdumps: over the mappings */
    uint32_t jit;           /* number + 1 of its last jitdump */
    /* of the program before exec, until the new one runs: */
    struct fm_perf_tree before, code_before;
};

struct fm_perf_thread {
    int32_t pid, tid;
    uint32_t process;       /* number */
    uint32_t incarnation;
    fm_str comm;            /* now; 0 unknown */
    int64_t since;          /* of comm */
    fm_thread row;          /* FM_NONE until a sample needs it */
    fm_str cgroup;          /* path of its cgroup, as last told; 0 unknown */
    bool exited;
};

struct fm_perf_file {       /* what was last seen at a path */
    uint64_t device, inode, inode_generation;
    uint32_t generation;
};

#define FM_PERF_RECENT 64u

struct fm_perf_machine {
    struct fm_mem *mem;
    struct fm_builder *builder;
    struct fm_perf_maps maps;
    struct fm_perf_range *range;
    size_t ranges, range_cap;
    struct fm_perf_process *process;
    size_t processes, process_cap;
    struct fm_perf_thread *thread;
    size_t threads, thread_cap;
    struct fm_map by_tid, by_pid;
    struct fm_map build_id;         /* fm_str of a path -> fm_str of its build-id */
    struct fm_map file_at;          /* fm_str of a path -> number of a file */
    struct fm_perf_file *file;
    size_t files, file_cap;
    struct fm_map cgroup;           /* id -> fm_str */
    struct fm_perf_tree modules, symbols, guest;   /* kernel modules, BPF code, guest kernel */
    uint32_t kernel;                /* range of the kernel image, or FM_PERF_NO_MAP */
    struct fm_perf_jits jits;
    uint64_t contexts, kernel_epoch;
    uint64_t recorder_ns;           /* mount namespace of the recorder; 0 unknown */
    struct fm_perf_names names;     /* symbols that the recording brings along */
    bool calls_exact;               /* chains hold calls, not return addresses */
    fm_module unknown;              /* "[unknown]"; FM_NONE until needed */
    uint32_t recent[FM_PERF_RECENT];    /* threads found last, by tid; FM_NONE none */
};

/* A mapping record. */
struct fm_perf_mapping {
    int32_t pid, tid;
    uint64_t start, length, offset;
    uint64_t device, inode, inode_generation;   /* 0 unknown */
    const unsigned char *build_id;              /* NULL none */
    size_t build_id_n;
    const char *name;
    size_t name_n;
    bool code;              /* may be executed */
    bool huge;              /* MAP_HUGETLB */
    bool jit;               /* a file of code made at run time: symbols by address */
    uint8_t mode;           /* enum fm_perf_mode of the record */
};

void fm_perf_machine_init(struct fm_perf_machine *m, struct fm_builder *builder);
void fm_perf_machine_release(struct fm_perf_machine *m);

/* All functions that return a pointer or bool give NULL or false only without memory. Pointers are
 * valid until the next call that may make one. Times are ns, INT64_MIN when unknown. */
struct fm_perf_thread *fm_perf_machine_thread(struct fm_perf_machine *m, int32_t pid, int32_t tid);
/* The same when it was asked for lately, else NULL; makes and changes nothing. */
static inline struct fm_perf_thread *fm_perf_machine_recent(const struct fm_perf_machine *m,
                                                            int32_t pid, int32_t tid)
{
    uint32_t number = m->recent[(uint32_t)tid % FM_PERF_RECENT];
    if (number == FM_NONE || m->thread[number].tid != tid || m->thread[number].pid != pid)
        return NULL;
    return &m->thread[number];
}
/* The thread's row in the store, made when needed; its comm is set to what is known of it. */
bool fm_perf_machine_row(struct fm_perf_machine *m, struct fm_perf_thread *thread);
/* A sample in user mode: an exec is over, nothing of the program before can be met any more. */
void fm_perf_machine_runs(struct fm_perf_machine *m, struct fm_perf_process *process);
/* The process's context, for chains. */
uint64_t fm_perf_machine_context(struct fm_perf_machine *m, struct fm_perf_process *process);

bool fm_perf_machine_comm(struct fm_perf_machine *m, int32_t pid, int32_t tid, const char *name,
                          size_t n, bool exec, int64_t time);
/* A name to fall back on, from a THREAD_MAP record. */
bool fm_perf_machine_name(struct fm_perf_machine *m, int32_t tid, const char *name, size_t n);
bool fm_perf_machine_fork(struct fm_perf_machine *m, int32_t pid, int32_t ppid, int32_t tid,
                          int32_t ptid, bool synthesized, int64_t time);
void fm_perf_machine_exit(struct fm_perf_machine *m, int32_t pid, int32_t tid);
bool fm_perf_machine_map(struct fm_perf_machine *m, const struct fm_perf_mapping *mapping);
/* Adds a range to no tree yet; its number, or FM_PERF_NO_MAP without memory. */
uint32_t fm_perf_machine_add_range(struct fm_perf_machine *m, struct fm_perf_range range);
bool fm_perf_machine_symbol(struct fm_perf_machine *m, uint64_t start, uint64_t length,
                            const char *name, size_t n, bool unregister);
bool fm_perf_machine_namespace(struct fm_perf_machine *m, int32_t pid, int32_t tid,
                               uint64_t mnt_ns);
bool fm_perf_machine_cgroup(struct fm_perf_machine *m, uint64_t id, const char *path, size_t n);
/* The thread (with a row) runs in the cgroup of that path: its container. */
void fm_perf_machine_contain(struct fm_perf_machine *m, struct fm_perf_thread *thread,
                             fm_str path);
bool fm_perf_machine_build_id(struct fm_perf_machine *m, const char *path, size_t n,
                              const unsigned char *id, size_t id_n);

/* The mapping that an address of a mode lies in; NULL: none. */
struct fm_perf_range *fm_perf_machine_range(struct fm_perf_machine *m,
                                            const struct fm_perf_process *process, uint8_t mode,
                                            uint64_t ip);
/* The frame of an address in a mode; FM_NONE without memory. */
fm_frame fm_perf_machine_frame(struct fm_perf_machine *m, const struct fm_perf_process *process,
                               uint8_t mode, uint64_t ip, bool caller);

/* At the end: late build-ids reach their modules, threads learn their process's name. */
void fm_perf_machine_finish(struct fm_perf_machine *m);

#endif
