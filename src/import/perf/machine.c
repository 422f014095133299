/*
 * machine.c - threads and processes over time: see machine.h. Mappings are in mapping.c.
 *
 * Rules (as perf 6.1 and the kernel behave):
 *
 *  - comm   the thread's name from its time on; by exec the mappings are dropped, but as long
 *           as the kernel is at it the user part of a chain is still the call of the old program
 *  - fork   pid != ppid: a new process with the parent's mappings, unless perf made the record for
 *           a process that ran already; pid == ppid: a thread. The comm is inherited
 *  - exit   keeps everything for late records; ids may be used again from then on
 *  - tid 0 is "swapper" whatever the cpu; a tid of -1 belongs to no thread and is told by its pid
 */
#include "import/perf/machine.h"

#include "util/out.h"

#include <stdio.h>

#define CONTAINER_ID 32u         /* hexadecimal digits of one, at least */

void fm_perf_machine_init(struct fm_perf_machine *m, struct fm_builder *builder)
{
    struct fm_mem *mem = &fm_builder_ctx(builder)->mem;
    memset(m, 0, sizeof *m);
    m->mem = mem;
    m->builder = builder;
    fm_perf_maps_init(&m->maps, mem);
    fm_map_init(&m->by_tid, mem);
    fm_map_init(&m->by_pid, mem);
    fm_map_init(&m->build_id, mem);
    fm_map_init(&m->file_at, mem);
    fm_map_init(&m->cgroup, mem);
    fm_perf_names_init(&m->names, mem);
    m->modules = fm_perf_tree_new(&m->maps);
    m->symbols = fm_perf_tree_new(&m->maps);
    m->guest = fm_perf_tree_new(&m->maps);
    m->kernel = FM_PERF_NO_MAP;
    m->unknown = FM_NONE;
    for (size_t i = 0; i < FM_PERF_RECENT; i++)
        m->recent[i] = FM_NONE;
}

void fm_perf_machine_release(struct fm_perf_machine *m)
{
    fm_perf_maps_release(&m->maps);
    fm_map_release(&m->by_tid);
    fm_map_release(&m->by_pid);
    fm_map_release(&m->build_id);
    fm_map_release(&m->file_at);
    fm_map_release(&m->cgroup);
    fm_perf_names_release(&m->names);
    fm_mem_free(m->mem, m->range, m->range_cap * sizeof *m->range);
    fm_mem_free(m->mem, m->process, m->process_cap * sizeof *m->process);
    fm_mem_free(m->mem, m->thread, m->thread_cap * sizeof *m->thread);
    fm_mem_free(m->mem, m->file, m->file_cap * sizeof *m->file);
}

/* ------------------------------------------------------------------ processes */

/* A new process object for a pid, in place of any before. */
static struct fm_perf_process *add_process(struct fm_perf_machine *m, int32_t pid)
{
    if (!fm_grow(m->mem, (void **)&m->process, &m->process_cap, m->processes + 1,
                 sizeof *m->process))
        return NULL;
    uint64_t *number = fm_map_put(&m->by_pid, (uint32_t)pid, NULL);
    if (number == NULL)
        return NULL;
    struct fm_perf_process *process = &m->process[m->processes];
    *process = (struct fm_perf_process){.pid = pid, .maps = fm_perf_tree_new(&m->maps),
                                        .code = fm_perf_tree_new(&m->maps),
                                        .context = ++m->contexts,
                                        .kernel_epoch = m->kernel_epoch};
    *number = m->processes++;
    return process;
}

static struct fm_perf_process *find_process(struct fm_perf_machine *m, int32_t pid)
{
    const uint64_t *number = fm_map_find(&m->by_pid, (uint32_t)pid);
    return number != NULL ? &m->process[*number] : add_process(m, pid);
}

uint64_t fm_perf_machine_context(struct fm_perf_machine *m, struct fm_perf_process *process)
{
    if (FM_UNLIKELY(process->kernel_epoch != m->kernel_epoch)) {
        process->kernel_epoch = m->kernel_epoch;
        process->context = ++m->contexts;
    }
    return process->context;
}

void fm_perf_machine_runs(struct fm_perf_machine *m, struct fm_perf_process *process)
{
    if (FM_LIKELY(process->before.root == 0 && process->code_before.root == 0))
        return;
    process->before.root = process->code_before.root = 0;
    process->context = ++m->contexts;
}

/* -------------------------------------------------------------------- threads */

/* tid 0 and -1 are shared by many. */
static uint64_t thread_key(int32_t pid, int32_t tid)
{
    return tid > 0 ? (uint64_t)(uint32_t)tid
                   : (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid | 1ull << 31;
}

static struct fm_perf_thread *add_thread(struct fm_perf_machine *m, int32_t pid, int32_t tid)
{
    uint32_t incarnation = 0;
    bool fresh;
    struct fm_perf_process *process = find_process(m, pid);
    if (process == NULL || !fm_grow(m->mem, (void **)&m->thread, &m->thread_cap, m->threads + 1,
                                    sizeof *m->thread))
        return NULL;
    uint64_t *number = fm_map_put(&m->by_tid, thread_key(pid, tid), &fresh);
    if (number == NULL)
        return NULL;
    if (!fresh)
        incarnation = m->thread[*number].incarnation + 1;
    *number = m->threads++;
    m->recent[(uint32_t)tid % FM_PERF_RECENT] = (uint32_t)*number;
    m->thread[*number] = (struct fm_perf_thread){
        .pid = pid, .tid = tid, .process = (uint32_t)(process - m->process),
        .incarnation = incarnation, .since = INT64_MIN, .row = FM_NONE};
    if (tid == 0)
        m->thread[*number].comm = fm_builder_str(m->builder, "swapper", 7);
    return &m->thread[*number];
}

struct fm_perf_thread *fm_perf_machine_thread(struct fm_perf_machine *m, int32_t pid, int32_t tid)
{
    struct fm_perf_thread *thread = fm_perf_machine_recent(m, pid, tid);
    if (FM_LIKELY(thread != NULL))
        return thread;
    const uint64_t *number = fm_map_find(&m->by_tid, thread_key(pid, tid));
    if (number != NULL)
        thread = &m->thread[*number];
    if (thread != NULL && thread->pid == -1 && pid != -1) {
        struct fm_perf_process *process = find_process(m, pid);
        if (process == NULL)
            return NULL;
        thread->pid = pid;
        thread->process = (uint32_t)(process - m->process);
        if (tid == pid && process->name == 0)
            process->name = thread->comm;
    }
    if (thread == NULL || (thread->pid != pid && pid != -1))
        thread = add_thread(m, pid, tid);
    if (thread != NULL)
        m->recent[(uint32_t)tid % FM_PERF_RECENT] = (uint32_t)(thread - m->thread);
    return thread;
}

/* The object that a comm or fork is about: a new one when the last has exited. */
static struct fm_perf_thread *living_thread(struct fm_perf_machine *m, int32_t pid, int32_t tid)
{
    struct fm_perf_thread *thread = fm_perf_machine_thread(m, pid, tid);
    return thread != NULL && thread->exited ? add_thread(m, pid, tid) : thread;
}

static fm_str nameless(struct fm_perf_machine *m, const struct fm_perf_thread *thread)
{
    struct fm_out out;
    fm_str name = 0;
    if (thread->tid > 0 && m->process[thread->process].name != 0)
        return m->process[thread->process].name;
    if (fm_out_init(&out, m->mem, NULL) != FM_OK)
        return 0;
    fm_out_char(&out, ':');
    fm_out_i64(&out, thread->tid);
    if (fm_out_finish(&out, NULL) == FM_OK)
        name = fm_builder_str(m->builder, out.buf, out.n);
    fm_out_release(&out);
    return name;
}

bool fm_perf_machine_row(struct fm_perf_machine *m, struct fm_perf_thread *thread)
{
    if (thread->comm == 0)
        thread->comm = nameless(m, thread);
    if (thread->row != FM_NONE)
        return true;
    thread->row = fm_builder_thread(m->builder, thread->pid, thread->tid, thread->incarnation);
    if (thread->row == FM_NONE)
        return false;
    fm_builder_thread_name(m->builder, thread->row, thread->since, thread->comm);
    return true;
}

static void set_comm(struct fm_perf_machine *m, struct fm_perf_thread *thread, fm_str comm,
                     int64_t time)
{
    thread->comm = comm;
    thread->since = time;
    if (thread->tid == thread->pid)
        m->process[thread->process].name = comm;
    if (thread->row != FM_NONE)
        fm_builder_thread_name(m->builder, thread->row, time, comm);
}

bool fm_perf_machine_comm(struct fm_perf_machine *m, int32_t pid, int32_t tid, const char *name,
                          size_t n, bool exec, int64_t time)
{
    struct fm_perf_thread *thread = living_thread(m, pid, tid);
    if (thread == NULL)
        return false;
    if (exec) {
        struct fm_perf_process *process = &m->process[thread->process];
        process->before = process->maps;
        process->code_before = process->code;
        process->maps = fm_perf_tree_new(&m->maps);
        process->code = fm_perf_tree_new(&m->maps);
        process->jit = 0;
        process->context = ++m->contexts;
    }
    set_comm(m, thread, fm_builder_str(m->builder, name, n), time);
    return true;
}

bool fm_perf_machine_name(struct fm_perf_machine *m, int32_t tid, const char *name, size_t n)
{
    const uint64_t *number = fm_map_find(&m->by_tid, thread_key(tid, tid));
    if (tid <= 0 || n == 0 || (number != NULL && m->thread[*number].comm != 0))
        return true;
    if (number != NULL) {
        set_comm(m, &m->thread[*number], fm_builder_str(m->builder, name, n), INT64_MIN);
        return true;
    }
    struct fm_perf_thread *thread = add_thread(m, -1, tid);
    if (thread == NULL)
        return false;
    set_comm(m, thread, fm_builder_str(m->builder, name, n), INT64_MIN);
    return true;
}

/* The parent's mappings, name and namespace for a process that has just begun. */
static bool inherit(struct fm_perf_machine *m, int32_t pid, int32_t ppid, bool synthesized)
{
    struct fm_perf_process *parent = find_process(m, ppid);
    if (parent == NULL)
        return false;
    size_t from = (size_t)(parent - m->process);
    struct fm_perf_process *child = add_process(m, pid);
    if (child == NULL)
        return false;
    parent = &m->process[from];
    child->name = parent->name;
    child->mnt_ns = parent->mnt_ns;
    if (!synthesized) {
        child->maps = fm_perf_tree_copy(&m->maps, &parent->maps);
        child->code = fm_perf_tree_copy(&m->maps, &parent->code);
    }
    return true;
}

bool fm_perf_machine_fork(struct fm_perf_machine *m, int32_t pid, int32_t ppid, int32_t tid,
                          int32_t ptid, bool synthesized, int64_t time)
{
    const uint64_t *known = fm_map_find(&m->by_pid, (uint32_t)pid);
    fm_str comm = 0;
    struct fm_perf_thread *parent = fm_perf_machine_thread(m, ppid, ptid);
    if (parent == NULL)
        return false;
    comm = parent->comm;
    if (pid != ppid && (!synthesized || known == NULL) &&
        !inherit(m, pid, ppid, synthesized))
        return false;
    struct fm_perf_thread *thread = add_thread(m, pid, tid);
    if (thread == NULL)
        return false;
    if (comm != 0 && tid != 0)
        set_comm(m, thread, comm, time);
    return true;
}

void fm_perf_machine_exit(struct fm_perf_machine *m, int32_t pid, int32_t tid)
{
    uint64_t *number = fm_map_find(&m->by_tid, thread_key(pid, tid));
    if (number != NULL && tid > 0)
        m->thread[*number].exited = true;
}

bool fm_perf_machine_namespace(struct fm_perf_machine *m, int32_t pid, int32_t tid,
                               uint64_t mnt_ns)
{
    size_t n;
    struct fm_perf_thread *thread = fm_perf_machine_thread(m, pid, tid);
    if (thread == NULL)
        return false;
    struct fm_perf_process *process = &m->process[thread->process];
    const char *comm = fm_builder_str_text(m->builder, thread->comm, &n);
    if (m->recorder_ns == 0 || (n >= 4 && memcmp(comm, "perf", 4) == 0))
        m->recorder_ns = mnt_ns;
    process->mnt_ns = mnt_ns;
    return true;
}

bool fm_perf_machine_cgroup(struct fm_perf_machine *m, uint64_t id, const char *path, size_t n)
{
    uint64_t *value = fm_map_put(&m->cgroup, id, NULL);
    if (value == NULL)
        return false;
    *value = fm_builder_str(m->builder, path, n);
    return true;
}

/* Containers are named by long hexadecimal ids somewhere in the path, "docker-1f3c...e2.scope",
 * "/kubepods/burstable/pod.../1f3c..."; people know the first twelve digits. 0: none in it. */
static size_t find_id(const char *path, size_t n)
{
    size_t found = 0;
    for (size_t at = 0, run = 0; at <= n; at++) {
        bool hex = at < n && ((path[at] >= '0' && path[at] <= '9') ||
                              (path[at] >= 'a' && path[at] <= 'f'));
        if (hex) {
            run++;
            continue;
        }
        if (run >= CONTAINER_ID)
            found = at - run;
        run = 0;
    }
    return found;
}

void fm_perf_machine_contain(struct fm_perf_machine *m, struct fm_perf_thread *thread,
                             fm_str path)
{
    size_t n;
    const char *text = fm_builder_str_text(m->builder, path, &n);
    struct fm_thread_row *row = fm_builder_thread_row(m->builder, thread->row);
    size_t id = find_id(text, n);
    thread->cgroup = path;
    if (row != NULL)
        row->container = id > 0 ? fm_builder_str(m->builder, text + id, 12) : path;
}

/* Without cgroups a process in a mount namespace of its own is one that was contained. */
static void contain_by_namespace(struct fm_perf_machine *m, const struct fm_perf_process *process,
                                 struct fm_thread_row *row)
{
    char text[40];
    if (row->container != 0 || process->mnt_ns == 0 || process->mnt_ns == m->recorder_ns)
        return;
    int n = snprintf(text, sizeof text, "mnt:[%llu]", (unsigned long long)process->mnt_ns);
    row->container = fm_builder_str(m->builder, text, (size_t)n);
}

void fm_perf_machine_finish(struct fm_perf_machine *m)
{
    for (size_t i = 0; i < m->ranges; i++) {
        const struct fm_perf_range *range = &m->range[i];
        const uint64_t *id = fm_map_find(&m->build_id, range->name);
        if (range->module == FM_NONE || id == NULL || range->build_id != 0)
            continue;
        struct fm_module_row *row = fm_builder_module_row(m->builder, range->module);
        if (row != NULL && row->build_id == 0)
            row->build_id = (fm_str)*id;
    }
    for (size_t i = 0; i < m->threads; i++) {
        const struct fm_perf_thread *thread = &m->thread[i];
        if (thread->row == FM_NONE)
            continue;
        struct fm_thread_row *row = fm_builder_thread_row(m->builder, thread->row);
        if (row == NULL)
            continue;
        row->process = m->process[thread->process].name;
        contain_by_namespace(m, &m->process[thread->process], row);
        if (row->process == 0 && thread->tid == thread->pid)
            row->process = thread->comm;
        row->leader = FM_NONE;
        const uint64_t *main = fm_map_find(&m->by_tid, thread_key(thread->pid, thread->pid));
        if (main != NULL && m->thread[*main].process == thread->process)
            row->leader = m->thread[*main].row;
    }
}
