// rows-check.cjs CSV TSV JSONL: the three tables of rows hold the same cells; prints what differs.
// The CSV is taken apart by the rules of RFC 4180, the TSV by its escapes. No value is null.
'use strict';
const fs = require('fs');

function csv(text) {
    const rows = [];
    let row = [], i = 0;
    while (i < text.length) {
        let cell = '', quoted = text[i] === '"';
        if (quoted) {
            for (i++; text[i] !== '"' || text[i + 1] === '"'; i++) {
                if (i >= text.length) throw new Error('a quote is open at the end');
                if (text[i] === '"') i++;
                cell += text[i];
            }
            i++;
        } else {
            while (i < text.length && text[i] !== ',' && text[i] !== '\n') {
                if (text[i] === '"') throw new Error('a bare quote at ' + i);
                cell += text[i++];
            }
        }
        row.push(cell === '' && !quoted ? null : cell);
        if (text[i] === '\n') {
            rows.push(row);
            row = [];
            i++;
        } else if (text[i] === ',') {
            i++;
            if (text[i] === '\n') {
                row.push(null);
                rows.push(row);
                row = [];
                i++;
            }
        } else {
            throw new Error('neither comma nor end of line at ' + i);
        }
    }
    return rows;
}

const back = {t: '\t', n: '\n', r: '\r', '\\': '\\'};
const tsv = text => text.split('\n').slice(0, -1).map(line => line.split('\t').map(
    cell => cell === '' ? null : cell.replace(/\\(.)/g, (all, c) => back[c])));

const [a, b, c] = process.argv.slice(2).map(file => fs.readFileSync(file, 'utf8'));
const x = csv(a), y = tsv(b), head = x[0];
const z = c.split('\n').slice(0, -1).map(line => JSON.parse(line));
if (x.length < 2 || x.length !== y.length || x.length !== z.length + 1)
    console.log(`rows: ${x.length - 1} ${y.length - 1} ${z.length}`);
for (let r = 0; r < x.length; r++) {
    if (x[r].length !== head.length || y[r].length !== head.length)
        console.log(`line ${r + 1}: ${x[r].length} and ${y[r].length} cells`);
    for (let k = 0; r > 0 && k < head.length; k++) {
        const v = z[r - 1][head[k]];
        const s = v === undefined ? null : Array.isArray(v) ? v.join(';') : String(v);
        // Integers beyond 2^53 and empty texts are not told apart by this reader.
        if (x[r][k] !== (y[r][k] ?? (x[r][k] === '' ? '' : null)))
            console.log(`line ${r + 1}, ${head[k]}: ${x[r][k]} ${y[r][k]}`);
        if (x[r][k] !== s && !(typeof v === 'number' && Number(x[r][k]) === v))
            console.log(`line ${r + 1}, ${head[k]}: ${x[r][k]} ${s}`);
    }
}
