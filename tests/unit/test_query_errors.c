/*
 * Messages of queries: each text and exactly what is printed about it, with line, column and caret.
 * Also parameters: their types, bounds and places in messages.
 */
#include "query_help.h"

#include <check.h>
#include <stdlib.h>

#define H "foldmill-query: 1\nname: q\n"

static const struct {
    const char *text, *messages;
} table[] = {
    { H "steps: [\n",
      "q.yaml:4:1: error: did not find expected node content (while parsing a flow node) "
      "[FM101]\n"
      "    4 | \n"
      "      | ^\n"
      "note: a value that begins with one of [ ] { } * & ! | > % @ ` or holds ': ' or ' #' must "
      "be quoted\n" },
    { "- 1\n",
      "q.yaml:1:1: error: a query is a map with 'foldmill-query: 1' [FM104]\n"
      "    1 | - 1\n"
      "      | ^\n" },
    { "name: q\n"
      "steps:\n"
      "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:1:1: error: 'foldmill-query: 1' is missing [FM105]\n"
      "    1 | name: q\n"
      "      | ^\n" },
    { "foldmill-query: 2\n"
      "name: q\n"
      "steps:\n"
      "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:1:17: error: 'foldmill-query' must be 1, the version of the language [FM104]\n"
      "    1 | foldmill-query: 2\n"
      "      |                 ^\n" },
    { H "stpes:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:1: error: unknown key 'stpes' (did you mean 'steps'?) [FM102]\n"
      "    3 | stpes:\n"
      "      | ^~~~~\n"
      "note: keys are: foldmill-query name about tags params inputs let from steps show output\n" },
    { H "name: r\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:1: error: duplicate key 'name' (first at 2:1) [FM103]\n"
      "    3 | name: r\n"
      "      | ^~~~\n" },
    { H,
      "q.yaml:1:1: error: 'steps' must be a list of steps [FM105]\n"
      "    1 | foldmill-query: 1\n"
      "      | ^\n" },
    { H "steps:\n"
        "  - grop: {by: [path], measures: [self]}\n",
      "q.yaml:4:5: error: unknown step 'grop' (did you mean 'group'?) [FM102]\n"
      "    4 |   - grop: {by: [path], measures: [self]}\n"
      "      |     ^~~~\n"
      "note: steps are: where time within weigh stack group tree pivot join union diff "
      "compute select sort limit check\n" },
    { H "let: []\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:6: error: 'let' takes {NAME: {from: …, steps: […]}} [FM104]\n"
      "    3 | let: []\n"
      "      |      ^\n" },
    { H "from: threads\n"
        "steps:\n"
        "  - time: 1s..\n",
      "q.yaml:5:5: error: 'from: threads' is a table: it has no rows for 'time' [FM109]\n"
      "    5 |   - time: 1s..\n"
      "      |     ^~~~\n" },
    { H "from: sample\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:7: error: unknown source 'sample' (did you mean 'samples'?) [FM102]\n"
      "    3 | from: sample\n"
      "      |       ^~~~~~\n"
      "note: sources are: samples spans counters instants offcpu wakeups runq "
      "launches threads frames inputs\n" },
    { H "steps:\n"
        "  - where: {cpu: 1}\n"
        "    limit: 3\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:5:5: error: step 'where' has no option 'limit' (each step has its own '-') "
      "[FM102]\n"
      "    5 |     limit: 3\n"
      "      |     ^~~~~\n" },
    { H "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "  - stack:\n"
        "      - drop: x\n",
      "q.yaml:5:5: error: a group result has no stacks; 'stack' must come before 'group' at 4:5 "
      "[FM109]\n"
      "    5 |   - stack:\n"
      "      |     ^~~~~\n" },
    { H "steps:\n"
        "  - compute: {x: self}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:5: error: 'compute' needs a result: 'group' or 'select' must come before it "
      "[FM109]\n"
      "    4 |   - compute: {x: self}\n"
      "      |     ^~~~~~~\n" },
    { H "steps:\n"
        "  - where: {stack: {has: {functoin: x}}}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:27: error: unknown frame attribute 'functoin' (did you mean 'function'?) "
      "[FM102]\n"
      "    4 |   - where: {stack: {has: {functoin: x}}}\n"
      "      |                           ^~~~~~~~\n"
      "note: frames have: function module file line address kind raw category; a name with ', ' "
      "or ': ' must be quoted\n" },
    { H "steps:\n"
        "  - where: {stack: {has: {function: foo(int, char*)}}}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:46: error: unknown frame attribute 'char*)' [FM102]\n"
      "    4 |   - where: {stack: {has: {function: foo(int, char*)}}}\n"
      "      |                                              ^~~~~~\n"
      "note: frames have: function module file line address kind raw category; a name with ', ' "
      "or ': ' must be quoted\n" },
    { H "steps:\n"
        "  - where: {stack: {hass: x}}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:21: error: unknown stack test 'hass' (did you mean 'has'?) [FM102]\n"
      "    4 |   - where: {stack: {hass: x}}\n"
      "      |                     ^~~~\n"
      "note: stack tests are: has lacks leaf root path\n" },
    { H "steps:\n"
        "  - where: {comm: '/a(b/'}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:24: error: bad regular expression: missing closing parenthesis [FM106]\n"
      "    4 |   - where: {comm: '/a(b/'}\n"
      "      |                        ^\n" },
    { H "steps:\n"
        "  - stack:\n"
        "      - dorp: x\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:5:9: error: unknown stack edit 'dorp' (did you mean 'drop'?) [FM102]\n"
      "    5 |       - dorp: x\n"
      "      |         ^~~~\n"
      "note: stack edits are: keep drop root leaf collapse rename level inlines prepend "
      "append invert depth\n" },
    { H "steps:\n"
        "  - stack:\n"
        "      - drop: x\n"
        "        keep: y\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:6:9: error: one edit has 'drop' and 'keep': give each its own '-' [FM102]\n"
      "    6 |         keep: y\n"
      "      |         ^~~~\n" },
    { H "steps:\n"
        "  - stack:\n"
        "      - drop: x\n"
        "        at: innermost\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:6:9: error: stack edit 'drop' has no option 'at' [FM102]\n"
      "    6 |         at: innermost\n"
      "      |         ^~\n" },
    { H "steps:\n"
        "  - stack:\n"
        "      - root: x\n"
        "        at: inermost\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:6:13: error: unknown 'at' value 'inermost' (did you mean 'innermost'?) [FM104]\n"
      "    6 |         at: inermost\n"
      "      |             ^~~~~~~~\n" },
    { H "steps:\n"
        "  - stack:\n"
        "      - collapse: {recursion: al}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:5:31: error: unknown 'recursion' value 'al' (did you mean 'all'?) [FM104]\n"
      "    5 |       - collapse: {recursion: al}\n"
      "      |                               ^~\n" },
    { H "steps:\n"
        "  - stack:\n"
        "      - level: functions\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:5:16: error: unknown 'level' value 'functions' (did you mean 'function'?) [FM104]\n"
      "    5 |       - level: functions\n"
      "      |                ^~~~~~~~~\n" },
    { H "steps:\n"
        "  - group: {measures: [self]}\n",
      "q.yaml:4:12: error: 'group' has no 'by' [FM105]\n"
      "    4 |   - group: {measures: [self]}\n"
      "      |            ^\n" },
    { H "steps:\n"
        "  - group: {by: [path], measures: [slef]}\n",
      "q.yaml:4:36: error: 'slef' is no measure (did you mean 'self'?) [FM107]\n"
      "    4 |   - group: {by: [path], measures: [slef]}\n"
      "      |                                    ^~~~\n" },
    { H "steps:\n"
        "  - group: {by: [path], measures: {x: sun(weight)}}\n",
      "q.yaml:4:39: error: unknown function 'sun' [FM102]\n"
      "    4 |   - group: {by: [path], measures: {x: sun(weight)}}\n"
      "      |                                       ^~~\n" },
    { H "steps:\n"
        "  - group: {by: [path], measures: {x: weight + 1}}\n",
      "q.yaml:4:39: error: 'weight' must stand inside an aggregate such as sum(x) [FM107]\n"
      "    4 |   - group: {by: [path], measures: {x: weight + 1}}\n"
      "      |                                       ^~~~~~\n" },
    { H "steps:\n"
        "  - group: {by: [path], measures: {x: sum(max(weight))}}\n",
      "q.yaml:4:43: error: 'max' cannot stand inside another aggregate [FM107]\n"
      "    4 |   - group: {by: [path], measures: {x: sum(max(weight))}}\n"
      "      |                                           ^~~~~~~~~~~\n" },
    { H "steps:\n"
        "  - group: {by: [path], measures: {x: \"sum(dur) + sum(if(cpu > 1, 4KiB, 0))\"}}\n",
      "q.yaml:4:51: error: units do not fit: 'ns' and 'bytes' [FM108]\n"
      "    4 |   - group: {by: [path], measures: {x: \"sum(dur) + sum(if(cpu > 1, 4KiB, 0))\"}}\n"
      "      |                                                   ^~~~~~~~~~~~~~~~~~~~~~~~~\n" },
    { H "steps:\n"
        "  - group: {by: [path], measures: {x: \"share(self, everything)\"}}\n",
      "q.yaml:4:52: error: 'everything' is no share's base (selected, all, group or a let) "
      "[FM107]\n"
      "    4 |   - group: {by: [path], measures: {x: \"share(self, everything)\"}}\n"
      "      |                                                    ^~~~~~~~~~\n" },
    { H "steps:\n"
        "  - group: {by: [path], measures: {x: \"share(self, group)\"}}\n",
      "q.yaml:4:52: error: 'group' is the first key's value, which cannot be a path [FM107]\n"
      "    4 |   - group: {by: [path], measures: {x: \"share(self, group)\"}}\n"
      "      |                                                    ^~~~~\n" },
    { H "steps:\n"
        "  - group: {by: [path], measures: [self, self]}\n",
      "q.yaml:4:42: error: measure 'self' is there twice [FM103]\n"
      "    4 |   - group: {by: [path], measures: [self, self]}\n"
      "      |                                          ^~~~\n" },
    { H "steps:\n"
        "  - group: {by: [path, path], measures: [self]}\n",
      "q.yaml:4:24: error: key 'path' is there twice [FM103]\n"
      "    4 |   - group: {by: [path, path], measures: [self]}\n"
      "      |                        ^~~~\n" },
    { H "steps:\n"
        "  - group: {by: [any.functon], measures: [self]}\n",
      "q.yaml:4:18: error: unknown frame attribute 'functon' (did you mean 'function'?) [FM102]\n"
      "    4 |   - group: {by: [any.functon], measures: [self]}\n"
      "      |                  ^~~~~~~~~~~\n"
      "note: frame attributes are: function module file line address kind raw category\n" },
    { H "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "  - sort: [-slef]\n",
      "q.yaml:5:12: error: unknown column 'slef' (did you mean 'self'?) [FM102]\n"
      "    5 |   - sort: [-slef]\n"
      "      |            ^~~~~\n"
      "note: columns are: function any.function self\n" },
    { H "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "  - limit: ten\n",
      "q.yaml:5:12: error: a limit is a number of rows, or all [FM104]\n"
      "    5 |   - limit: ten\n"
      "      |            ^~~\n" },
    { H "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "  - limit: {row: 10}\n",
      "q.yaml:5:13: error: unknown key 'row' (did you mean 'rows'?) [FM102]\n"
      "    5 |   - limit: {row: 10}\n"
      "      |             ^~~\n"
      "note: keys are: rows rest per ties at\n" },
    { H "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "  - limit: {rest: x}\n",
      "q.yaml:5:12: error: 'limit' has no 'rows' [FM105]\n"
      "    5 |   - limit: {rest: x}\n"
      "      |            ^\n" },
    { H "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "  - limit: {rows: 1, at: half}\n",
      "q.yaml:5:26: error: 'at' is a percentage such as 50% [FM104]\n"
      "    5 |   - limit: {rows: 1, at: half}\n"
      "      |                          ^~~~\n" },
    { H "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "output: {columns: [sefl]}\n",
      "q.yaml:5:20: error: unknown column 'sefl' (did you mean 'self'?) [FM102]\n"
      "    5 | output: {columns: [sefl]}\n"
      "      |                    ^~~~\n"
      "note: columns are: function any.function self\n" },
    { H "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "output: {path: {order: leaf}}\n",
      "q.yaml:5:24: error: 'order' is root-first or leaf-first [FM104]\n"
      "    5 | output: {path: {order: leaf}}\n"
      "      |                        ^~~~\n" },
    { H "params: {n: {type: int, default: 1}}\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "  - limit: $m\n",
      "q.yaml:6:12: error: unknown parameter 'm' [FM102]\n"
      "    6 |   - limit: $m\n"
      "      |            ^~\n" },
    { H "params: {fun: {type: string, default: x}}\n"
        "steps:\n"
        "  - where: {comm: \"/^${fn}$/\"}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:5:22: error: unknown parameter 'fn' (did you mean 'fun'?) [FM102]\n"
      "    5 |   - where: {comm: \"/^${fn}$/\"}\n"
      "      |                      ^~~~~\n" },
    { H "params: {n: {type: integer, default: 1}}\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:20: error: unknown parameter type 'integer' [FM102]\n"
      "    3 | params: {n: {type: integer, default: 1}}\n"
      "      |                    ^~~~~~~\n" },
    { H "params: {n: {type: int}}\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:10: error: parameter 'n' needs a 'default', or 'required: true' [FM105]\n"
      "    3 | params: {n: {type: int}}\n"
      "      |          ^\n" },
    { H "params: {n: {type: int, default: few}}\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:34: error: 'few' is no int [FM104]\n"
      "    3 | params: {n: {type: int, default: few}}\n"
      "      |                                  ^~~\n" },
    { H "params: {n: {type: int, default: 0, min: 1}}\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:34: error: '0' is below the minimum of parameter 'n' [FM104]\n"
      "    3 | params: {n: {type: int, default: 0, min: 1}}\n"
      "      |                                  ^\n" },
    { H "params: {by: {type: column, default: x, choices: [cpu, tid]}}\n"
        "steps:\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:3:38: error: 'x' is not a choice of parameter 'by' [FM104]\n"
      "    3 | params: {by: {type: column, default: x, choices: [cpu, tid]}}\n"
      "      |                                      ^\n" },
    { H "steps:\n"
        "  - where: {cpu: many}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:18: error: 'cpu' needs a number, not 'many' [FM104]\n"
      "    4 |   - where: {cpu: many}\n"
      "      |                  ^~~~\n" },
    { H "steps:\n"
        "  - where: {dur: '>= 4KiB'}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:18: error: units do not match: 'dur' is in ns, '4KiB' in bytes [FM108]\n"
      "    4 |   - where: {dur: '>= 4KiB'}\n"
      "      |                  ^~~~~~~~~\n" },
    { H "steps:\n"
        "  - time: yesterday\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:11: error: 'yesterday' is no time range [FM104]\n"
      "    4 |   - time: yesterday\n"
      "      |           ^~~~~~~~~\n"
      "note: time ranges are 1.5s..2s, ..10%, -2s.., 10%/2, @N..@M, or ISO-8601 times\n" },
    { H "steps:\n"
        "  - where: {cpu: x, stack: {hsa: y}}\n"
        "  - stack:\n"
        "      - drop: x\n"
        "      - lveel: function\n"
        "  - group: {by: [any.function], measures: [self]}\n"
        "  - sort: [totl]\n"
        "  - limit: -1\n",
      "q.yaml:4:18: error: 'cpu' needs a number, not 'x' [FM104]\n"
      "    4 |   - where: {cpu: x, stack: {hsa: y}}\n"
      "      |                  ^\n"
      "q.yaml:4:29: error: unknown stack test 'hsa' (did you mean 'has'?) [FM102]\n"
      "    4 |   - where: {cpu: x, stack: {hsa: y}}\n"
      "      |                             ^~~\n"
      "note: stack tests are: has lacks leaf root path\n"
      "q.yaml:7:9: error: unknown stack edit 'lveel' (did you mean 'level'?) [FM102]\n"
      "    7 |       - lveel: function\n"
      "      |         ^~~~~\n"
      "note: stack edits are: keep drop root leaf collapse rename level inlines prepend "
      "append invert depth\n"
      "q.yaml:9:12: error: unknown column 'totl' [FM102]\n"
      "    9 |   - sort: [totl]\n"
      "      |            ^~~~\n"
      "note: columns are: function any.function self\n"
      "q.yaml:10:12: error: a limit is a number of rows, or all [FM104]\n"
      "   10 |   - limit: -1\n"
      "      |            ^~\n" },
    { H "steps: !x\n",
      "q.yaml:3:8: error: tags (!name) are not allowed: quote a value that begins with '!' "
      "[FM101]\n"
      "    3 | steps: !x\n"
      "      |        ^\n" },
    { H "steps:\n"
        "  - where: cpu >\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:17: error: the expression ends where a value should stand [FM107]\n"
      "    4 |   - where: cpu >\n"
      "      |                 ^\n" },
    { H "steps:\n"
        "  - where: {thred: x}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:13: error: unknown column 'thred' (did you mean 'thread'?) [FM102]\n"
      "    4 |   - where: {thred: x}\n"
      "      |             ^~~~~\n" },
    { H "steps:\n"
        "  - where: {klass: x}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:13: error: unknown column 'klass' (did you mean 'class'?) [FM102]\n"
      "    4 |   - where: {klass: x}\n"
      "      |             ^~~~~\n" },
    { H "steps:\n"
        "  - group: {by: [cpuu], measures: [self]}\n",
      "q.yaml:4:18: error: unknown column 'cpuu' (did you mean 'cpu'?) [FM102]\n"
      "    4 |   - group: {by: [cpuu], measures: [self]}\n"
      "      |                  ^~~~\n"
      "note: columns are: ts dur event weight count value thread cpu name category comm pid tid "
      "process container source command leaf.function leaf.module leaf.file leaf.line "
      "leaf.address leaf.kind leaf.raw leaf.category root.function root.module root.file "
      "root.line root.address root.kind root.raw root.category class\n"
      "note: frame keys are path, any.function, leaf.module, root.file ...\n" },
    { H "steps:\n"
        "  - group: {by: [waker.thred], measures: [self]}\n",
      "q.yaml:4:18: error: unknown column 'waker.thred' [FM102]\n"
      "    4 |   - group: {by: [waker.thred], measures: [self]}\n"
      "      |                  ^~~~~~~~~~~\n"
      "note: of linked rows there are columns, labels, path, leaf.X and root.X\n" },
    { H "steps:\n"
        "  - where: {waker.con: x}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:13: error: unknown column 'waker.con' [FM102]\n"
      "    4 |   - where: {waker.con: x}\n"
      "      |             ^~~~~~~~~\n"
      "note: of linked rows there are columns, labels, path, leaf.X and root.X\n" },
    { H "steps:\n"
        "  - where: {event: cycle}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:20: error: no event 'cycle'; inputs have: cpu (1) [FM111]\n"
      "    4 |   - where: {event: cycle}\n"
      "      |                    ^~~~~\n" },
    { H "steps:\n"
        "  - where: {event: 'cyc*'}\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:20: error: no event 'cyc*'; inputs have: cpu (1) [FM111]\n"
      "    4 |   - where: {event: 'cyc*'}\n"
      "      |                    ^~~~~~\n" },
    { H "steps:\n"
        "  - where: cpi > 1\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:12: error: unknown name 'cpi' (did you mean 'cpu'?) [FM102]\n"
      "    4 |   - where: cpi > 1\n"
      "      |            ^~~\n" },
    { H "steps:\n"
        "  - time: 2026-01-31T12:00:00Z..\n"
        "  - group: {by: [any.function], measures: [self]}\n",
      "q.yaml:4:11: error: no input knows its wall clock: give times relative to the start "
      "[FM104]\n"
      "    4 |   - time: 2026-01-31T12:00:00Z..\n"
      "      |           ^~~~~~~~~~~~~~~~~~~~~~\n" },
};

static struct fm_ctx *ctx;

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

START_TEST(message)
{
    struct fm_store *store = query_store(ctx, "a;b 1 cpu=0 ts=0 s.class=X\n");

    ck_assert_ptr_null(query_run(ctx, store, table[_i].text, NULL, "csv"));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    ck_assert_str_eq(query_messages(), table[_i].messages);
    ck_assert(query_error()[0] != '\0');
    fm_store_free(store);
}
END_TEST

START_TEST(an_empty_result_names_its_step)
{
    struct fm_store *store = query_store(ctx, "a;b 1 cpu=0\n");

    ck_assert_str_eq(query_run(ctx, store,
                               H "steps:\n"
                                 "  - where: {cpu: 0}\n"
                                 "  - where: {cpu: 77}\n"
                                 "  - where: {cpu: 78}\n"
                                 "  - group: {by: [path], measures: [self]}\n", NULL, "csv"),
                     "path,self (ns)\n");
    ck_assert_str_eq(query_messages(),
                     "q.yaml:5:5: warning: no rows are left after this 'where' [FM112]\n"
                     "    5 |   - where: {cpu: 77}\n"
                     "      |     ^~~~~\n");
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------------- parameters */

static const char params[] =
    H "params:\n"
      "  i: {type: int, default: 2, min: 1, max: 9}\n"
      "  f: {type: number, default: 0.5}\n"
      "  pc: {type: percent, default: 50%}\n"
      "  t: {type: time, default: 1us}\n"
      "  z: {type: size, default: 4KiB}\n"
      "  s: {type: string, default: a}\n"
      "  g: {type: glob, default: \"*\"}\n"
      "  p: {type: pred, default: {module: \"m*\"}}\n"
      "  b: {type: bool, default: false}\n"
      "  r: {type: range, default: 0%..100%}\n"
      "  c: {type: column, default: cpu, choices: [cpu, tid]}\n"
      "  must: {type: int, required: true}\n"
      "steps:\n"
      "  - time: $r\n"
      "  - where: {cpu: \">= $must\", comm: $g}\n"
      "  - where: ts < $t or $b\n"
      "  - stack:\n"
      "      - drop: $p\n"
      "      - drop: {function: \"/^${s}x$/\"}\n"
      "  - group: {by: [$c, path], measures: {w: self, x: self * $f}}\n"
      "  - sort: [-$c, path]\n"
      "  - limit: {rows: $i, at: $pc}\n";

static void set(const char *values, const char *error)
{
    struct fm_store *store = query_store(ctx, "a 1 cpu=0\n");

    ck_assert_ptr_null(query_run(ctx, store, params, values, "csv"));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    ck_assert_str_eq(query_error(), error);
    ck_assert_str_eq(query_messages(), "");
    fm_store_free(store);
}

START_TEST(parameters_are_typed)
{
    set(NULL, "query 'q' needs parameter 'must' (-p must=VALUE)");
    set("mst=1", "query 'q' has no parameter 'mst' (did you mean 'must'?)");
    set("must=one", "parameter 'must': 'one' is no int");
    set("i=0", "parameter 'i': '0' is below the minimum of parameter 'i'");
    set("i=10", "parameter 'i': '10' is above the maximum of parameter 'i'");
    set("f=x", "parameter 'f': 'x' is no number");
    set("pc=5ms", "parameter 'pc': '5ms' is no percent");
    set("t=4KiB", "parameter 't': '4KiB' is no time");
    set("z=4ms", "parameter 'z': '4ms' is no size");
    set("b=yes", "parameter 'b': 'yes' is no bool: true or false");
    set("c=comm", "parameter 'c': 'comm' is not a choice of parameter 'c'");
}
END_TEST

START_TEST(parameters_reach_their_places)
{
    static const char lines[] = "m@mod;f 1 cpu=0 tid=5 ts=0 comm=k\nm@mod;f 2 cpu=1 tid=6 ts=10\n"
                                "g;bx 4 cpu=2 tid=7 ts=900\nh 8 cpu=2 tid=7 ts=5000\n";
    struct fm_store *store = query_store(ctx, lines);

    ck_assert_str_eq(query_run(ctx, store, params, "must=0 pc=0%", "csv"),
                     "cpu,path,w (ns),x (ns)\n2,g;bx,4,2\n1,f,2,1\n");
    ck_assert_str_eq(query_run(ctx, store, params, "must=0 pc=50%", "csv"),
                     "cpu,path,w (ns),x (ns)\n1,f,2,1\n0,f,1,0.5\n");
    ck_assert_str_eq(query_run(ctx, store, params, "must=2 i=all s=b", "csv"),
                     "cpu,path,w (ns),x (ns)\n2,g,4,2\n");
    ck_assert_str_eq(query_run(ctx, store, params, "must=2 i=all b=true", "csv"),
                     "cpu,path,w (ns),x (ns)\n2,g;bx,4,2\n2,h,8,4\n");
    ck_assert_str_eq(query_run(ctx, store, params, "must=0 g=k c=tid p=none", "csv"),
                     "tid,path,w (ns),x (ns)\n5,m;f,1,0.5\n");
    ck_assert_str_eq(query_run(ctx, store, params, "must=0 r=5ns..1us p=f f=2", "csv"),
                     "cpu,path,w (ns),x (ns)\n2,g;bx,4,8\n1,m,2,4\n");
    /* a bad value in a place that its type does not check still points there */
    ck_assert_ptr_null(query_run(ctx, store, params, "must=0 r=soon", "csv"));
    ck_assert_msg(strstr(query_messages(), "q.yaml:17:11: error: 'soon' is no time range [FM104]\n"
                                           "   17 |   - time: $r\n"
                                           "      |           ^~\n") != NULL,
                  "%s", query_messages());
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query_errors");
    TCase *t = tcase_create("query_errors");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, message, 0, FM_COUNT(table));
    tcase_add_test(t, an_empty_result_names_its_step);
    tcase_add_test(t, parameters_are_typed);
    tcase_add_test(t, parameters_reach_their_places);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
