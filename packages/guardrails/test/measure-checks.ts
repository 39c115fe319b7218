/** Prints the time of the checks for 1 kB of clean text and of hostile texts, and the hold-back in characters. */
import { cleanCorpus } from './clean-corpus.ts';
import { piiShapes, piiTypes } from '../src/checks/pii.ts';
import { secretShapes, secretTypes } from '../src/checks/secrets.ts';
import type { Shape } from '../src/checks/shape.ts';
import { ShapeScan } from '../src/checks/shape-scan.ts';

const corpus = Object.values(cleanCorpus).join('\n');
const rounds = 200;
const attackRounds = 3;

function microsecondsPerKilobyte(
  shapes: readonly Shape[],
  text: string,
  size = text.length,
  times = rounds,
): number {
  const once = () => {
    const scan = new ShapeScan(shapes);
    for (let at = 0; at < text.length; at += size) scan.push(text.slice(at, at + size));
    scan.end();
  };
  once();
  // The time of the processor: other processes of the machine don't count.
  const begin = process.cpuUsage();
  for (let round = 0; round < times; round += 1) once();
  const { user } = process.cpuUsage(begin);
  return user / times / (text.length / 1_000);
}

function line(name: string, value: number): void {
  process.stdout.write(`${name.padEnd(44)} ${value.toFixed(1).padStart(10)}\n`);
}

const regions = ['US', 'VN'];
const sets: [string, Shape[]][] = [
  ...piiTypes.map((type): [string, Shape[]] => [type, piiShapes({ types: [type] })]),
  ['phone, 2 regions', piiShapes({ types: ['phone'], regions })],
  ...secretTypes.map((type): [string, Shape[]] => [type, secretShapes([type])]),
  ['pii + secrets, defaults', [...piiShapes({}), ...secretShapes()]],
  ['all', [...piiShapes({ types: piiTypes, regions }), ...secretShapes(secretTypes)]],
];
for (const [name, shapes] of sets) line(`${name}: µs per kB`, microsecondsPerKilobyte(shapes, corpus));
const [, defaults] = sets.at(-2) ?? [];
const [, all] = sets.at(-1) ?? [];
if (defaults && all) {
  for (const size of [4, 20, 40]) {
    line(`defaults in parts of ${String(size)}: µs per kB`, microsecondsPerKilobyte(defaults, corpus, size));
  }
  const held = Array.from({ length: 2 }, (_, set) => {
    const scan = new ShapeScan(set === 0 ? defaults : all);
    const ends: number[] = [];
    for (let at = 0; at < corpus.length; at += 4)
      ends.push(at + 4 - scan.push(corpus.slice(at, at + 4)).cleared);
    return ends.toSorted((one, other) => one - other);
  });
  for (const [set, ends] of held.entries()) {
    const at = (part: number) => ends[Math.floor(ends.length * part)] ?? 0;
    line(`held back, ${set === 0 ? 'defaults' : 'all'}: p50`, at(0.5));
    line('  p90', at(0.9));
    line('  p99', at(0.99));
  }
  const attacks: Record<string, string> = {
    digits: '4'.repeat(20_000),
    'digit groups': '4 '.repeat(10_000),
    'card groups': '4111 '.repeat(4_000),
    'plus signs': '+1 '.repeat(7_000),
    'phone groups': '+8 4 9 1 2 3 4 5 6 7 8 9 1 2 3 '.repeat(700),
    'at signs': 'a@'.repeat(10_000),
    domains: 'a@b.cc '.repeat(3_000),
    dots: `a@${'a.'.repeat(100)} `.repeat(100),
    prefixes: 'sk-'.repeat(7_000),
    jwts: 'eyJ '.repeat(5_000),
    begins: '-----BEGIN PRIVATE KEY-----\n'.repeat(700),
    schemes: 'http://a:'.repeat(2_200),
    passwords: 'password='.repeat(2_200),
    ibans: 'DE89 '.repeat(4_000),
  };
  for (const [name, text] of Object.entries(attacks)) {
    line(`${name}: µs per kB, all`, microsecondsPerKilobyte(all, text, text.length, attackRounds));
  }
}
