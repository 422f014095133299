/*
 * duckdb-check.cjs FOLDMILL TMP FILE... - questions asked of foldmill, and of DuckDB over the rows
 * that foldmill writes of the same file. FILE may be several, A+B, which are one input.
 *
 * `foldmill convert -o rows.jsonl` and `rows.csv` are loaded (and must hold the same). Then, for
 * the events with most rows, spans, launches and counters, one query file is written with every
 * question in a `let`; each table of its JSON must be the rows that the SQL beside it gives, in the
 * same order, integers digit by digit. The meaning is that of foldmill-queries(5), written down a
 * second time in SQL:
 *
 *     percentile  nearest rank: element ceil(p n / 100) of the sorted values, in integers
 *     total       each row once a key: over the distinct elements of the path
 *     order       keys ascending by bytes, no value last (DuckDB's default)
 *     edits       list functions over the path
 *
 * Needs @duckdb/node-api (NODE_PATH). TAP on standard output, one check a file and event.
 */
'use strict';
const fs = require('fs');
const path = require('path');
const {spawnSync} = require('child_process');
const {DuckDBInstance} = require('@duckdb/node-api');

const [bin, tmp, ...files] = process.argv.slice(2);
const MOST_EVENTS = 3;
const MOST_SHOWN = 8;

/* ---------------------------------------------------------------- helpers */

const text = s => "'" + s.replace(/'/g, "''") + "'";
const sortedBy = (rows, f) => rows.map(f).sort((a, b) => a < b ? -1 : a > b ? 1 : 0);

function run(args) {
    const r = spawnSync(bin, args, {encoding: 'utf8', maxBuffer: 1 << 30});
    if (r.status !== 0 && r.status !== 3)
        throw new Error(`foldmill ${args.join(' ')}: status ${r.status}\n${r.stderr}`);
    return r.stdout;
}

/* JSON whose numbers are kept as they are written, as texts that no name is: a 0 byte, digits. */
const exact = json => JSON.parse(json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g,
    m => m[0] === '"' ? m : `"\\u0000${m}"`));

/* A cell as text that can be compared: '-' for none, numbers '#N', texts '=T', paths joined. */
function ours(cell) {
    if (cell === null || cell === undefined) return '-';
    if (Array.isArray(cell)) return '=' + cell.join('\x01');
    if (typeof cell === 'boolean') return '#' + Number(cell);
    return cell[0] === '\0' ? '#' + cell.slice(1) : '=' + cell;
}
function theirs(cell) {
    if (cell === null || cell === undefined) return '-';
    if (typeof cell === 'bigint') return '#' + cell;
    if (typeof cell === 'number') return '#' + cell;
    if (typeof cell === 'boolean') return '#' + Number(cell);
    if (Array.isArray(cell)) return '=' + cell.join('\x01');
    return '=' + cell;
}
/* Whole numbers digit by digit; a fraction of either side to 12 digits. */
function same(a, b) {
    if (a === b) return true;
    if (a[0] !== '#' || b[0] !== '#' || !/[.e]/.test(a + b)) return false;
    const x = Number(a.slice(1)), y = Number(b.slice(1));
    return Math.abs(x - y) <= 1e-12 * Math.max(Math.abs(x), Math.abs(y), 1);
}

/* ------------------------------------------------------------- the tables */

const COLUMNS = {
    source: 'VARCHAR', event: 'VARCHAR', metric: 'VARCHAR', kind: 'VARCHAR', ts: 'BIGINT',
    clock: 'BIGINT', dur: 'BIGINT', weight: 'BIGINT', unit: 'VARCHAR', count: 'BIGINT',
    value: 'DOUBLE', process: 'VARCHAR', pid: 'BIGINT', thread: 'VARCHAR', tid: 'BIGINT',
    java_tid: 'BIGINT', comm: 'VARCHAR', command: 'VARCHAR', container: 'VARCHAR', cpu: 'BIGINT',
    name: 'VARCHAR', category: 'VARCHAR', stack: 'BIGINT', depth: 'BIGINT',
    'leaf.function': 'VARCHAR', 'leaf.module': 'VARCHAR', 'leaf.kind': 'VARCHAR',
    path: 'VARCHAR[]'
};
/* Labels, which not every input has: in rows.jsonl alone. */
const LABELS = {correlation: 'VARCHAR'};

async function load(db, base) {
    const list = Object.entries({...COLUMNS, ...LABELS})
        .map(([n, t]) => `${text(n)}: ${text(t)}`).join(', ');
    await db.run(`create or replace table r as select * from read_json(${text(base + '.jsonl')},
        format = 'newline_delimited', columns = {${list}}, maximum_object_size = 100000000)`);
    const names = Object.keys(COLUMNS).filter(n => n !== 'path');
    await db.run(`create or replace table c as select * from read_csv(${text(base + '.csv')},
        all_varchar = true, header = true, delim = ',', quote = '"', escape = '"',
        allow_quoted_nulls = false, max_line_size = 100000000, parallel = false)`);
    const cells = names.map(n => n === 'value' ? 'value::DOUBLE' : `"${n}"::VARCHAR`).join(', ');
    const joined = `select ${cells}, array_to_string(path, ';') from r`;
    const flat = `select ${cells}, path from c`;
    const wrong = await rows(db, `select count(*) from
        ((${joined} except all ${flat}) union all (${flat} except all ${joined}))`);
    return Number(wrong[0][0]);
}

async function rows(db, sql) {
    try {
        return (await db.runAndReadAll(sql)).getRowsJS();
    } catch (e) {
        throw new Error(`${e.message}\n${sql}`);
    }
}

/* -------------------------------------------------------------- questions */

const RANKS = {p1: [1, 100], p50: [50, 100], p90: [90, 100], p99: [99, 100], 'p99.9': [999, 1000],
    p100: [1, 1]};
const ranks = x => Object.fromEntries(Object.keys(RANKS).map(p => [`${p[0]}_${p.slice(1)
    .replace('.', '_')}`, `${p}(${x})`]));
const rankSql = x => Object.values(RANKS).map(([a, b]) => `nearest(list(${x}) filter
    (${x} is not null), ${a}, ${b})`).join(', ');

/* Edits of stacks: [edit, the path after it; null drops the row]. f and g are functions. Frames
 * without a name are a function each, which a path does not tell: such stacks are left out. */
function edits(f, g) {
    const F = text(f), G = text(g), none = p => `if(len(${p}) = 0, ['[none]'], ${p})`;
    const first = `list_position(path, ${F})`;
    const last = `(len(path) + 1 - list_position(list_reverse(path), ${F}))`;
    const has = `list_contains(path, ${F})`;
    const is = x => ({function: {is: x}});
    return {
        keep: [[{keep: [is(f), is(g)]}],
            none(`list_filter(path, lambda x: x in (${F}, ${G}))`)],
        drop: [[{drop: is(f)}], none(`list_filter(path, lambda x: x <> ${F})`)],
        drop_empty: [[{drop: {not: is(f)}, empty: 'drop'}],
            `nullif(list_filter(path, lambda x: x = ${F}), []::VARCHAR[])`],
        root: [[{root: is(f)}], `if(${has}, path[${first}:], null)`],
        root_inner: [[{root: is(f), at: 'innermost', missing: 'keep'}],
            `if(${has}, path[${last}:], path)`],
        leaf: [[{leaf: is(f)}], `if(${has}, path[:${last}], path)`],
        leaf_outer: [[{leaf: is(f), at: 'outermost', missing: 'drop'}],
            `if(${has}, path[:${first}], null)`],
        runs: [[{collapse: {recursion: 'direct'}}],
            'list_filter(path, lambda x, i: i = 1 or path[i - 1] <> x)'],
        loops: [[{collapse: {recursion: 'all'}}],
            `list_reduce(list_transform(path, lambda x: [x]), lambda a, x:
                if(list_contains(a, x[1]), a[:list_position(a, x[1])], list_concat(a, x)))`],
        invert: ['invert', 'list_reverse(path)'],
        outer: [[{depth: {max: 2, from: 'root'}}],
            "if(len(path) > 2, list_concat(path[:2], ['[truncated]']), path)"],
        inner: [[{depth: {max: 2, from: 'leaf'}}],
            "if(len(path) > 2, list_concat(['[truncated]'], path[-2:]), path)"],
        prepend: [[{prepend: ['thread']}],
            `list_concat(['[' || if(thread is null, 'no thread', 'thread: ' || thread) || ']'],
                path)`]
    };
}

/*
 * The questions: {steps, sql, from, any} by name. `s` is the view of the rows asked about, with n,
 * the place in the input. any: the order is not the SQL's to know.
 */
function questions(known) {
    const {from, f, g, width, low, high, middle, thread} = known;
    const F = text(f ?? ''), G = text(g ?? ''), T = thread === null ? "''" : text(thread);
    const q = {};
    const ask = (name, steps, sql, more) => { q[name] = {from, steps, sql, ...more}; };
    const W = `${width}ns`, slot = `ts - ts % ${width}`;
    const is = x => ({is: x});

    ask('cells', [{group: {by: ['thread', 'event', 'leaf.function', {slot: `bucket(ts, ${W})`}],
        measures: {sum: 'sum(weight)', n: 'count()', samples: 'samples', least: 'min(weight)',
            most: 'max(weight)', tids: 'distinct(tid)', names: 'distinct(name)', since: 'min(ts)',
            until: 'max(ts)', cpus: 'count(cpu)'}}}],
    `select thread, event, "leaf.function", ${slot}, coalesce(sum(weight), 0), count(*), sum(count),
        min(weight), max(weight), count(distinct tid), count(distinct name), min(ts), max(ts),
        count(cpu)
        from s group by 1, 2, 3, 4 order by 1, 2, 3, 4`);
    ask('means', [{group: {by: ['thread', 'leaf.kind'], measures: {avg: 'avg(weight)',
        dev: 'stddev(weight)', span: 'max(ts) - min(ts)'}}}],
    `select thread, "leaf.kind", avg(weight), stddev_pop(weight), max(ts) - min(ts) from s
        group by 1, 2 order by 1, 2`);
    for (const x of ['ts', 'weight', 'dur'])
        ask(`ranks_${x}`, [{group: {by: ['thread', 'name'], measures: ranks(x)}}],
            `select thread, name, ${rankSql(x)} from s group by 1, 2 order by 1, 2`);
    ask('all_ranks', [{group: {by: [{all: '1'}], measures: ranks('weight')}}],
        `select 1, ${rankSql('weight')} from s group by 1`);
    ask('ends', [{group: {by: ['thread'], measures: {f: 'first(leaf.function)',
        l: 'last(leaf.function)', fw: 'first(weight)', lw: 'last(weight)'}}}],
    `select thread, first("leaf.function" order by ts, n) filter ("leaf.function" is not null),
        first("leaf.function" order by ts desc nulls last, n desc)
            filter ("leaf.function" is not null),
        first(weight order by ts, n) filter (weight is not null),
        first(weight order by ts desc nulls last, n desc) filter (weight is not null)
        from s group by 1 order by 1`);

    /* stacks */
    ask('functions', [{group: {by: ['any.function'], measures: ['self', 'total', 'samples',
        'count()']}}],
    `select f, sum(if(path is null or path[-1] = f, weight, 0)), sum(weight), sum(count), count(*)
        from (select unnest(list_distinct(path)) f, path, weight, count from s
              where path is not null
              union all select null, path, weight, count from s where path is null)
        group by 1 order by 1`);
    ask('calls', [{where: {stack: {has: '*'}}}, {group: {by: ['caller.function', 'callee.function'],
        measures: ['self', 'total', 'samples'], recursion: 'show'}}],
    `select e[1], e[2], sum(if(e is null or path[-2:] = e, weight, 0)), sum(weight), sum(count)
        from (select unnest(list_distinct(list_transform(range(1, len(path)),
                  lambda i: path[i:i + 1]))) e, path, weight, count from s where len(path) > 1
              union all select null, path, weight, count from s where len(path) = 1)
        group by e order by 1, 2`);
    ask('paths', [{group: {by: ['path'], measures: ['self', 'samples']}}],
        'select path, sum(weight), sum(count) from s group by 1 order by 1');
    for (const [way, p] of [['down', 'path'], ['up', 'list_reverse(path)']])
        ask(`tree_${way}`, [{where: {stack: {has: '*'}}}, {tree: way},
            {select: ['path', 'total', 'self', 'samples', 'depth']}],
        `select node, sum(weight), sum(if(len(p) = len(node), weight, 0)), sum(count), len(node)
            from (select p, weight, count, unnest(list_transform(range(1, len(p) + 1),
                      lambda i: p[:i])) node
                  from (select ${p} p, weight, count from s where path is not null))
            group by 1`, {any: true});
    if (f !== null)
        for (const [name, [edit, sql]] of Object.entries(edits(f, g)))
            ask(`edit_${name}`, [{where: {stack: {has: '*', lacks: '[unknown]*'}}}, {stack: edit},
                {group: {by: ['path'], measures: ['self', 'samples']}}],
            `select p, sum(weight), sum(count) from (select ${sql} p, weight, count from s
                where path is not null
                    and len(list_filter(path, lambda x: x like '[unknown]%')) = 0)
                where p is not null group by 1 order by 1`);

    /* rows */
    const kept = (name, step, sql, before = '') => ask(`where_${name}`, [step,
        {group: {by: ['thread', 'leaf.function'], measures: ['self', 'count()']}}],
    `${before} select thread, "leaf.function", sum(weight), count(*) from s where ${sql}
        group by 1, 2 order by 1, 2`);
    kept('regex', {where: {'leaf.function': '/[aeiou].?$/'}},
        `regexp_matches("leaf.function", '[aeiou].?$')`);
    kept('glob', {where: {'leaf.function': '*a?e*'}}, `"leaf.function" glob '*a?e*'`);
    kept('not', {where: {thread: {not: is(thread ?? '')}}}, `thread <> ${T}`);
    kept('number', {where: {weight: `${low === high ? 0 : low + 1n}..${high}`}},
        `weight between ${low === high ? 0 : low + 1n} and ${high}`);
    kept('expression', {where: `weight > ${low} and ts >= ${middle} or weight == ${low}`},
        `weight > ${low} and ts >= ${middle} or weight = ${low}`);
    kept('time', {time: `${middle / 2n}ns..${middle}ns`}, known.spans
        ? `ts < ${middle} and (ts + coalesce(dur, 0) > ${middle / 2n} or ts = ${middle / 2n})`
        : `ts >= ${middle / 2n} and ts < ${middle}`);
    if (f !== null) {
        kept('has', {where: {stack: {has: {function: is(f)}}}}, `list_contains(path, ${F})`);
        kept('lacks', {where: {stack: {has: '*', lacks: {function: is(f)}}}},
            `path is not null and not list_contains(path, ${F})`);
        kept('path', {where: {stack: {path: [{function: is(f)}, {function: is(g)}]}}},
            `list_contains(path[list_position(path, ${F}) + 1:], ${G})
                and list_contains(path, ${F})`);
        kept('if', {where: {any: [{'leaf.function': is(f)}, {not: {'leaf.kind': 'kernel'}}]}},
            `"leaf.function" = ${F} or "leaf.kind" <> 'kernel'`);
    }
    ask('weigh', [{weigh: {by: 'weight * 3 + count', unit: 'x'}},
        {group: {by: ['any.function'], measures: ['self', 'total']}}],
    `select f, sum(if(path is null or path[-1] = f, weight * 3 + count, 0)), sum(weight * 3 + count)
        from (select unnest(list_distinct(path)) f, path, weight, count from s
              where path is not null
              union all select null, path, weight, count from s where path is null)
        group by 1 order by 1`);

    if (!known.timeless) {
        ask('shares', [{where: `ts >= ${middle}`}, {group: {by: ['thread', 'leaf.function'],
            measures: {of_all: 'share(self, all)', of_selected: 'self_share',
                of_thread: 'share(self, group)', samples: 'samples'}}}],
        `with a as (select sum(weight) w from s), p as (select thread, "leaf.function" f,
             coalesce(sum(weight), 0) w, sum(count) n from s where ts >= ${middle} group by 1, 2)
         select thread, f, w / nullif((select w from a), 0), w / nullif(sum(w) over (), 0),
             w / nullif(sum(w) over (partition by thread), 0), n from p order by 1, 2`);
        if (!known.spans)
            ask('rate', [{time: `${middle / 2n}ns..${middle}ns`}, {group: {by: ['thread'],
                measures: {r: 'rate(self)', n: 'rate(count())'}}}],
            `select thread, sum(weight) * 1e9 / ${middle - middle / 2n},
                count(*) * 1e9 / ${middle - middle / 2n} from s
                where ts >= ${middle / 2n} and ts < ${middle} group by 1 order by 1`);
    }

    /* tables */
    const pairs = [{group: {by: ['thread', 'leaf.function'],
        measures: {w: 'sum(weight)', n: 'count()'}}}];
    const P = `p as (select thread, "leaf.function" f, sum(weight) w, count(*) n from s
        group by 1, 2)`;
    const table = (name, steps, sql, more) =>
        ask(name, [...pairs, ...steps], `with ${P} ${sql}`, more);
    table('per', [{sort: '-w'}, {limit: {rows: 2, per: ['thread']}}],
        `select * from p qualify row_number() over (partition by thread order by w desc, f) <= 2
         order by w desc, thread, f`);
    table('ties', [{sort: '-n'}, {limit: {rows: 3, ties: 'include'}}],
        'select * from p qualify rank() over (order by n desc) <= 3 order by n desc, thread, f');
    table('rest', [{sort: '-w'}, {limit: {rows: 3, rest: 'others'}},
        {group: {by: [{all: '1'}], measures: {w: 'sum(w)', n: 'sum(n)'}}}],
    'select 1, sum(w), sum(n) from p');
    table('median', [{sort: '-w'}, {limit: {rows: 1, at: '50%'}}],
        `select thread, f, w, n from (select *, row_number() over (order by w desc, thread, f) k,
         count(*) over () c from p) where k = (c + 1) // 2`);
    table('sums', [{compute: {less: 'w - n', odd: 'n % 2', part: 'w / n', lean: 'if(n > 1, w, 0)'}},
        {where: 'n >= 2 or w > 0'}],
    `select *, w - n, n % 2, w / n, if(n > 1, w, 0) from p where n >= 2 or w > 0
     order by thread, f`);
    table('again', [{group: {by: ['thread'], measures: {most: 'max(w)', mid: 'p50(w)', k: 'count()',
        all: 'sum(w)', d: 'distinct(n)'}}}],
    `select thread, max(w), nearest(list(w) filter (w is not null), 1, 2), count(*), sum(w),
        count(distinct n) from p group by 1 order by 1`);
    q.teams = {from, hidden: true, steps: [{group: {by: ['thread'], measures: {all: 'sum(weight)',
        peak: 'max(weight)'}}}, {where: `thread != ${T}`}]};
    const A = `a as (select thread, sum(weight) "all", max(weight) peak from s where thread <> ${T}
        group by 1)`;
    for (const kind of ['inner', 'left', 'full'])
        table(`join_${kind}`, [{join: {with: 'teams', on: ['thread'], kind}},
            {select: ['thread', 'function', 'w', 'n', 'all', 'peak']},
            {sort: ['thread', 'function']}],
        `, ${A} select p.*, a."all", a.peak from p ${kind} join a
            on p.thread is not distinct from a.thread order by p.thread, f`);
    table('pivot', [{where: 'w >= 0'}, {pivot: {rows: ['function'], column: 'thread', value: 'n',
        fill: 0, total: 'in all'}}], null, {pivot: true});

    if (!known.timeless) {
        q.early = {from, hidden: true, steps: [{time: `..${middle}ns`},
            {group: {by: ['leaf.function'], measures: {w: 'sum(weight)', n: 'samples'}}}]};
        ask('diff', [{time: `${middle}ns..`}, {group: {by: ['leaf.function'],
            measures: {w: 'sum(weight)', n: 'samples'}}},
        {diff: {against: 'early', key: ['function']}},
        {select: ['function', 'status', 'base.w', 'new.w', 'delta.w', 'base.n', 'new.n',
            'ratio.w']},
        {sort: 'function'}],
        `with b as (select "leaf.function" f, sum(weight) w, sum(count) n from s
             where ts < ${middle} group by 1),
         a as (select "leaf.function" f, sum(weight) w, sum(count) n from s where
             ${known.spans ? `(ts >= ${middle} or ts + coalesce(dur, 0) > ${middle})`
        : `ts >= ${middle}`} group by 1)
         select coalesce(a.f, b.f), case when b.n is null then 'added' when a.n is null
                 then 'removed' else 'both' end, coalesce(b.w, 0), coalesce(a.w, 0),
             coalesce(a.w, 0) - coalesce(b.w, 0),
             coalesce(b.n, 0), coalesce(a.n, 0),
             if(coalesce(b.w, 0) = 0, null, coalesce(a.w, 0) / b.w)
         from a full join b on a.f is not distinct from b.f order by 1`);
        q.busy = {from, hidden: true, steps: [{group: {by: [{slot: `bucket(ts, ${W})`}],
            measures: {w: 'sum(weight)'}}}, {sort: ['-w', 'slot']}, {limit: 2}]};
        const busy = `with b as (select ${slot} k, sum(weight) w from s where ts is not null
            group by 1 order by w desc, k limit 2)`;
        kept('busiest', {within: {spans: 'busy', on: 'any'}},
            `ts is not null and ${slot} in (select k from b)`, busy);
        kept('idlest', {within: {spans: 'busy', on: 'any', outside: true}},
            `ts is not null and ${slot} not in (select k from b)`, busy);
    }
    if (known.spans) {
        ask('latency', [{where: {dur: '>= 0'}}, {group: {by: ['name'], measures: {n: 'count()',
            total: 'sum(dur)', self: 'sum(self_dur)', ...ranks('dur')}}},
        {sort: ['-p_99', 'name']}],
        `select name, count(*), sum(dur), sum(weight), ${rankSql('dur')} from s where dur >= 0
            group by 1 order by 8 desc, 1`);
    }
    if (known.spans && known.name !== null) {
        q.long = {from, hidden: true, steps: [{where: {name: is(known.name)}}]};
        const process = 'i.pid is not distinct from s.pid and s.tid is not null';
        for (const [on, same] of [['any', 'true'], ['process', process],
            ['thread', `${process} and i.tid = s.tid`]])
            kept(`inside_${on}`, {within: {spans: 'long', on}}, `exists (select 1 from s i
                where i.name = ${text(known.name)} and i.ts <= s.ts and s.ts < i.ts + i.dur
                    and ${same})`);
    }
    return q;
}

/* Work of a device and the call that launched it, by their correlation. */
const PAIRS = `h as (select * from r where category in ('cuda_runtime', 'cuda_driver')),
    d as (select * from r where category in ('kernel', 'gpu_memcpy', 'gpu_memset',
        'cuda_sync')),
    p as (select h.name caller, d.name kernel, h.dur, h.ts, h.path, d.dur gpu, d.ts begun
        from h join d on h.correlation = d.correlation and h.source = d.source)`;

function launches() {
    const figures = {n: 'count()', host: 'sum(dur)', gpu: 'sum(link.dur)', mid: 'p50(link.dur)',
        delay: 'max(link.ts - ts)'};
    return {
        pairs: {from: 'launches', steps: [{group: {by: ['name', 'kernel'], measures: figures}}],
            sql: `with ${PAIRS} select caller, kernel, count(*), sum(dur), sum(gpu),
                nearest(list(gpu), 1, 2), max(begun - ts) from p group by 1, 2 order by 1, 2`},
        paths: {from: 'launches', steps: [{group: {by: ['path', 'kernel'],
            measures: {gpu: 'self', n: 'count()'}}}],
        sql: `with ${PAIRS} select path, kernel, sum(gpu), count(*) from p
            group by 1, 2 order by 1, 2`},
        launched: {from: 'spans', steps: [
            {where: {category: ['kernel', 'gpu_memcpy', 'gpu_memset', 'cuda_sync']}},
            {group: {by: ['launch.name'], measures: {n: 'count()', gpu: 'sum(dur)'}}}],
        sql: `with ${PAIRS} select h.name, count(*), sum(d.dur) from d left join h
            on h.correlation = d.correlation and h.source = d.source group by 1 order by 1`}
    };
}

/* Values of counters: whole numbers and fractions. */
function counters() {
    const value = 'value';
    return {
        values: {from: 'counters', steps: [{group: {by: ['event', 'thread'], measures: {
            n: 'count()', least: 'min(value)', most: 'max(value)', sum: 'sum(value)',
            mid: 'p50(value)', kinds: 'distinct(value)', first: 'first(value)'}}}],
        sql: `select event, thread, count(*), min(${value}), max(${value}), sum(${value}),
            nearest(list(${value}), 1, 2), count(distinct ${value}), first(${value} order by ts, n)
            from s group by 1, 2 order by 1, 2`}
    };
}

/* What the questions are about: functions, a slot width and limits that split these rows. */
async function survey(db, from, spans) {
    const [[low, high, end, width, timeless]] = await rows(db, `select min(weight), max(weight),
        max(ts), max(ts) // 7 + 1, count(ts) = 0 from s`);
    const named = await rows(db, `select f, count(*) n,
            count(*) filter (path[1] <> f and path[-1] <> f) k
        from (select unnest(list_distinct(path)) f, path from s) group by 1
        order by k > 0 desc, abs(n - (select count(*) from s) / 3), f limit 2`);
    const thread = await rows(db, `select thread, count(*) n from s where thread is not null
        group by 1 order by 2 desc, 1 limit 1`);
    const name = await rows(db, `select name, sum(dur) from s where name is not null and dur > 0
        and tid is not null
        group by 1 having count(*) < 200 order by 2 desc nulls last, 1 limit 1`);
    return {
        from, spans, low, high, timeless,
        middle: BigInt(end ?? 0) / 2n, width: BigInt(width ?? 1),
        f: named.length ? named[0][0] : null, g: named.length ? named[named.length - 1][0] : null,
        thread: thread.length ? thread[0][0] : null, name: name.length ? name[0][0] : null
    };
}

/* DuckDB's PIVOT gives columns by their values; both sides become texts "row|column=value". */
async function pivot(db, table) {
    const wide = await db.runAndReadAll(`pivot (select "leaf.function" f,
        coalesce(thread, '(none)') t, count(*) n from s group by 1, 2 having sum(weight) >= 0)
        on t using sum(n) group by f order by f`);
    const names = wide.columnNames();
    const want = [], got = [];
    for (const row of wide.getRowsJS())
        for (let k = 1; k < names.length; k++)
            want.push(`${theirs(row[0])}|${names[k]}=${row[k] ?? 0}`);
    for (const row of table.rows)
        for (const c of table.columns)
            if (c.name !== 'function' && c.name !== 'in all')
                got.push(`${ours(row.function)}|${c.name}=${row[c.name].slice(1)}`);
    return {want: want.sort().map(x => [x]), got: got.sort().map(x => [x])};
}

async function compare(db, name, q, table) {
    if (!table)
        return [`${name}: no table`];
    let want, got;
    if (q.pivot) {
        ({want, got} = await pivot(db, table));
    } else {
        want = (await rows(db, q.sql)).map(row => row.map(theirs));
        got = table.rows.map(row => table.columns.map(c => ours(row[c.name])));
        if (q.any) {
            const flat = row => row.join('\x02');
            want = sortedBy(want, flat).map(x => x.split('\x02'));
            got = sortedBy(got, flat).map(x => x.split('\x02'));
        }
    }
    const found = [];
    if (want.length !== got.length)
        found.push(`${name}: DuckDB has ${want.length} rows, foldmill ${got.length}`);
    for (let i = 0; i < Math.max(want.length, got.length) && found.length < MOST_SHOWN; i++) {
        const a = want[i] ?? [], b = got[i] ?? [];
        if (a.length !== b.length || a.some((x, k) => !same(x, b[k])))
            found.push(`${name}, row ${i + 1}: DuckDB ${a.join(' ')}, foldmill ${b.join(' ')}`
                .replace(/\x01/g, ';'));
    }
    return found;
}

/* ------------------------------------------------------------------- main */

let tests = 0, failed = 0, asked = 0;

function report(name, found) {
    tests++;
    failed += found.length > 0;
    console.log(`${found.length ? 'not ok' : 'ok'} ${tests} - ${name}`);
    found.forEach(line => console.log('# ' + line.replace(/\n/g, '\n# ')));
}

async function ask(db, list, label, args, all) {
    const shown = Object.keys(all).filter(n => !all[n].hidden);
    const yaml = path.join(tmp, 'questions.yaml');
    fs.writeFileSync(yaml, JSON.stringify({'foldmill-query': '1', name: 'questions',
        let: Object.fromEntries(Object.entries(all).map(([n, q]) =>
            [n, {from: q.from, steps: q.steps}])),
        show: shown}, (k, v) => typeof v === 'bigint' ? String(v) : v, 1) + '\n');
    const tables = exact(run(['query', yaml, '--json', ...args, ...list]));
    const by = Object.fromEntries(tables.map(t => [t.table, t]));
    const found = [];
    for (const n of shown) {
        found.push(...await compare(db, n, all[n], by[n]));
        asked++;
    }
    if (found.length && process.env.KEEP)
        fs.copyFileSync(yaml, path.join(process.env.KEEP, `${tests + 1}.yaml`));
    report(`${label}: ${shown.length} questions`, found);
}

async function questionsOf(db, list, label, args, from, spans) {
    const known = await survey(db, from, spans);
    await ask(db, list, label, args, questions(known));
}

async function check(db, file) {
    const base = path.join(tmp, 'rows'), list = file.split('+');
    const short = list.map(name => name.split('/').slice(-3).join('/')).join(' + ');
    for (const form of ['jsonl', 'csv'])
        run(['convert', '--event', '*', '--keep', 'all', ...list, '-o', `${base}.${form}`]);
    const wrong = await load(db, base);
    report(`${short}: rows.csv and rows.jsonl hold the same`,
        wrong ? [`${wrong} rows differ`] : []);
    const events = await rows(db, `select event, count(*) from r where kind = 'sample'
        group by 1 order by 2 desc, 1 limit ${MOST_EVENTS}`);
    for (const [event] of events) {
        await db.run(`create or replace table s as select rowid n, * from r
            where event = ${text(event)} and kind = 'sample'`);
        await questionsOf(db, list, `${short}, ${event}`, ['--event', event], 'samples', false);
    }
    await db.run(`create or replace table s as select rowid n, * from r
        where kind in ('span', 'async')`);
    // Where spans overlap in part, self times are sums over rows that no column joins to them.
    const [[spans, parts]] = await rows(db, `select (select count(*) from s),
        (select count(*) from r where kind = 'part')`);
    if (spans > 0 && parts == 0)
        await questionsOf(db, list, `${short}, spans`, [], 'spans', true);
    const [[pairs]] = await rows(db, `with ${PAIRS} select count(*) from p`);
    if (pairs > 0)
        await ask(db, list, `${short}, launches`, [], launches());
    await db.run(`create or replace table s as select rowid n, * from r where kind = 'counter'`);
    const [[values]] = await rows(db, 'select count(*) from s');
    if (values > 0)
        await ask(db, list, `${short}, counters`, [], counters());
}

async function main() {
    const instance = await DuckDBInstance.create(':memory:', {threads: '1'});
    const db = await instance.connect();
    await db.run(`create macro nearest(l, a, b) as
        list_sort(l)[((a * len(l) + b - 1) // b)::BIGINT]`);
    for (const file of files) {
        try {
            await check(db, file);
        } catch (e) {
            report(path.basename(file), [e.message]);
        }
    }
    console.log(`# ${asked} questions`);
    console.log(`1..${tests}`);
    process.exitCode = failed && !process.env.AM_TAP_AWK ? 1 : 0;
}

main();
