/*
 * speedscope-check.cjs - node speedscope-check.cjs SCHEMA FILE...: speedscope files against the JSON
 * schema of the format and the rules that the schema does not hold. Needs ajv (NODE_PATH).
 */
"use strict";
const Ajv = require("ajv");
const fs = require("fs");

const schema = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const valid = new (Ajv.default || Ajv)({ strict: false }).compile(schema);
let count = 0, failed = 0;

function ok(good, name, more) {
    count++;
    if (!good) failed++;
    console.log((good ? "ok " : "not ok ") + count + " - " + name);
    if (!good && more) console.log("# " + JSON.stringify(more));
}

function nested(profile, frames) {
    const open = [];
    let now = profile.startValue;
    for (const e of profile.events) {
        if (e.at < now || e.at > profile.endValue || e.frame < 0 || e.frame >= frames)
            return false;
        now = e.at;
        if (e.type === "O")
            open.push(e.frame);
        else if (open.pop() !== e.frame)
            return false;
    }
    return open.length === 0;
}

for (const file of process.argv.slice(3)) {
    const text = fs.readFileSync(file, "utf8");
    const doc = JSON.parse(text);
    const frames = doc.shared.frames.map(f => f.name + "\0" + (f.file || ""));
    const name = file.replace(/.*\//, "");
    ok(valid(doc), name + ": schema", valid.errors);
    ok(doc.profiles.length > 0 && doc.activeProfileIndex < doc.profiles.length,
        name + ": a profile is active");
    ok(new Set(frames).size === frames.length, name + ": every frame once");
    ok(doc.profiles.filter(p => p.type === "evented").every(p => nested(p, frames.length)),
        name + ": events nest, in time order");
    const sampled = doc.profiles.filter(p => p.type === "sampled");
    ok(sampled.every(p => p.samples.length === p.weights.length), name + ": a weight a sample");
    ok(sampled.every(p => p.weights.every(w => w > 0)), name + ": weights above 0");
    ok(sampled.every(p => p.samples.every(s => s.every(f => f >= 0 && f < frames.length))),
        name + ": frames within the table");
    /* as text: the sums may exceed what a double holds */
    const sums = [...text.matchAll(/"endValue":(\d+),"samples":.*?"weights":\[([\d,]*)\]/gs)]
        .map(m => [BigInt(m[1]), m[2] === "" ? 0n : m[2].split(",").reduce((a, w) => a + BigInt(w), 0n)]);
    ok(sums.length === sampled.length && sums.every(s => s[0] === s[1]),
        name + ": weights sum to the end", sums.map(String));
}
console.log("1.." + count);
process.exit(failed ? 1 : 0);
