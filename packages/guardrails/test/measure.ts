/**
 * Prints the hold-back and the time of scans: 50 patterns and the built-in checks over texts in which they find little,
 * and texts and patterns made to be slow. `node packages/guardrails/test/measure.ts`
 */
import { readFileSync, readdirSync } from 'node:fs';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { bytesOf } from '../src/automaton.ts';
import { piiShapes, piiTypes } from '../src/checks/pii.ts';
import { secretShapes, secretTypes } from '../src/checks/secrets.ts';
import { type CompiledCheck, shapesCheck } from '../src/compiled-check.ts';
import { regexRule, wordRule } from '../src/rule.ts';
import { TextScan } from '../src/text-scan.ts';
import { checkOfRules, piecesOf } from './scans.ts';

const words = [
  'project bluebird',
  'acme',
  'falcon',
  'nightingale',
  'confidential',
  'internal only',
  'do not distribute',
  'merger',
  'layoff',
  'term sheet',
  'cap table',
  'salary band',
  'board minutes',
  'umbrella',
  'stingray',
  'redwood',
  'northwind',
  'contoso',
  'initech',
  'hooli',
  'massive dynamic',
  'tyrell',
  'weyland',
  'cyberdyne',
  'mật khẩu',
  'tuyệt mật',
  'lương tháng',
  'hợp đồng mua bán',
  '机密',
  '社外秘',
];
const regexes = [
  String.raw`\bPRJ-\d{4,6}\b`,
  String.raw`\b[A-Z]{3}-\d{3}-\d{4}\b`,
  String.raw`(?i)ticket[ #:]{1,3}\d{5,8}`,
  String.raw`\bEMP\d{6}\b`,
  String.raw`(?i)customer[ _-]?id[ :=]{1,3}[a-z0-9]{6,12}`,
  String.raw`\b\d{3}-\d{2}-\d{4}\b`,
  String.raw`https?://[a-z0-9.-]{1,60}\.corp\b`,
  String.raw`(?i)host(name)?[ =:]{1,3}[a-z0-9-]{1,40}\.internal`,
  String.raw`\b10\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`,
  String.raw`(?i)room [0-9]{3}[a-f]\b`,
  String.raw`\bINV/20\d{2}/\d{4,8}\b`,
  String.raw`\b[A-Z]{2}\d{2}[A-Z]{3}\b`,
  String.raw`(?i)case no\.? ?\d{2,4}/\d{2,4}`,
  String.raw`\bsha256:[0-9a-f]{64}\b`,
  String.raw`(?i)(drop|truncate)\s{1,5}table\s{1,5}\w{1,64}`,
  String.raw`(?i)ignore (all )?(previous|prior) instructions`,
  String.raw`\bC[0-9]{7}\b`,
  String.raw`(?i)diagnos(is|ed)[^.\n]{0,40}(cancer|hiv|diabetes)`,
  String.raw`\b[\w.+-]{1,64}@corp\.example\b`,
  String.raw`(?i)passport (no|number)[ .:]{1,3}[A-Z0-9]{7,9}`,
];
const root = new URL('../../../', import.meta.url);
const markdown = (folder: string): string =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith('.md'))
    .toSorted()
    .map((name) => readFileSync(new URL(folder + name, root), 'utf8'))
    .join('\n');
const code = (folder: string): string =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .map((name) => readFileSync(new URL(folder + name, root), 'utf8'))
    .join('\n');
const logs = Array.from(
  { length: 1500 },
  (_, i) =>
    `2026-11-${String((i % 28) + 1).padStart(2, '0')}T08:${String(i % 60).padStart(2, '0')}:17.${String((i * 37) % 1000).padStart(3, '0')}Z INFO order=${40000123456701 + i * 7919} v1.${i % 40}.3 status=200 took=${i % 977}ms`,
).join('\n');
const vietnamese =
  'Khách hàng đã đặt hàng vào sáng thứ Hai và muốn biết khi nào đơn hàng được giao đến văn phòng ở Quận 1. Vui lòng kiểm tra trạng thái vận chuyển rồi trả lời bằng một câu ngắn gọn, lịch sự. '.repeat(
    600,
  );
const corpora = {
  english: markdown('docs/adr/').slice(0, 200_000),
  code: code('packages/dialects/src/').slice(0, 200_000),
  numbers: readFileSync(new URL('package-lock.json', root), 'utf8').slice(0, 200_000),
  logs,
  vietnamese,
  'vietnamese, NFD': vietnamese.normalize('NFD'),
};

function quantile(values: Uint32Array, share: number): number {
  return values.toSorted()[Math.floor((values.length - 1) * share)] ?? 0;
}

/** Sizes of pieces, from 1 to 40, without a clock or chance. */
const sizes = Array.from({ length: 997 }, (_, i) => 1 + ((i * 7919) % 40));

/** A text scanned in pieces, a new scan for each eight thousand characters: the size of an answer. */
function scanAll(
  checks: readonly CompiledCheck[],
  pieces: readonly string[],
  note?: (held: number) => void,
): void {
  let scan = new TextScan(checks);
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    const { cleared } = atOnce(scan.push(piece));
    note?.(length - cleared);
    if (length < 8000) continue;
    atOnce(scan.end());
    scan = new TextScan(checks);
    length = 0;
  }
  atOnce(scan.end());
}

/** Microseconds of the processor for 1,000 characters, the least of three. */
function timeOf(checks: readonly CompiledCheck[], pieces: readonly string[]): string {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const once = (): number => {
    const begun = process.cpuUsage();
    scanAll(checks, pieces);
    return process.cpuUsage(begun).user / (length / 1000);
  };
  return Math.min(once(), once(), once()).toFixed(0);
}

/** The longest step of a scan in milliseconds of the processor, in the fastest of three scans. */
function longestStep(checks: readonly CompiledCheck[], text: string): string {
  const once = (): number => {
    const scan = new TextScan(checks);
    let longest = 0;
    for (const steps of [scan.push(text), scan.end()]) {
      for (let done = false; !done;) {
        const begun = process.cpuUsage();
        done = steps.next().done === true;
        longest = Math.max(longest, process.cpuUsage(begun).user / 1000);
      }
    }
    return longest;
  };
  return Math.min(once(), once(), once()).toFixed(1);
}

const begun = process.cpuUsage();
const patterns = checkOfRules([
  ...words.map((each) => wordRule(each)),
  ...regexes.map((each) => regexRule(each)),
]);
const compiledIn = process.cpuUsage(begun).user / 1000;
const states = patterns.automata.reduce((sum, each) => sum + each.matched.length, 0);
const bytes = patterns.automata.reduce((sum, each) => sum + bytesOf(each), 0);
console.log(
  `50 patterns: ${patterns.automata.length} automata, ${states} states, ${Math.round(bytes / 1000)} kB, ${compiledIn.toFixed(0)} ms`,
);
const regions = ['US', 'VN'];
const sets: Record<string, CompiledCheck[]> = {
  patterns: [patterns],
  'pii + secrets': [shapesCheck(piiShapes({}), []), shapesCheck(secretShapes(), [])],
  'pii + secrets + patterns': [shapesCheck(piiShapes({}), []), shapesCheck(secretShapes(), []), patterns],
  'all types': [
    shapesCheck([...piiShapes({ types: piiTypes, regions }), ...secretShapes(secretTypes)], []),
    patterns,
  ],
};
console.log(
  'checks | text | held p50 | p99 | max | µs for 1,000 in pieces of 1 to 40 | in pieces of 4 | of 1,000',
);
for (const [set, checks] of Object.entries(sets)) {
  for (const [name, text] of Object.entries(corpora)) {
    const held: number[] = [];
    const small = piecesOf(text, sizes);
    scanAll(checks, small, (each) => held.push(each));
    const quantiles = [0.5, 0.99, 1].map((share) => quantile(Uint32Array.from(held), share));
    const times = [small, piecesOf(text, [4]), piecesOf(text, [1000])].map((pieces) =>
      timeOf(checks, pieces),
    );
    console.log([set, name, ...quantiles, ...times].join(' | '));
  }
}

const attacks: Record<string, string> = {
  digits: '4'.repeat(2_500),
  'digit groups': '4 '.repeat(2_500),
  'plus signs': '+1 '.repeat(1_750),
  'phone groups': '+8 4 9 1 2 3 4 5 6 7 8 9 1 2 3 '.repeat(175),
  'at signs': 'a@'.repeat(2_500),
  domains: 'a@b.cc '.repeat(750),
  prefixes: 'sk-'.repeat(1_750),
  begins: '-----BEGIN PRIVATE KEY-----\n'.repeat(175),
  schemes: 'http://a:'.repeat(550),
  passwords: 'password='.repeat(550),
  ibans: 'DE89 '.repeat(1_000),
  marks: `e${'\u0301'.repeat(2_500)}`,
  invisible: '\u200b'.repeat(2_500),
  emoji: '👩‍💻'.repeat(1_000),
  addresses: 'jane@acme.com '.repeat(375),
  letters: 'az'.repeat(2_500),
};
const manyStarts = checkOfRules(Array.from({ length: 16 }, (_, i) => regexRule(`[a-z]{1,${250 - i}}${i}`)));
const overlapping = checkOfRules(
  Array.from({ length: 100 }, (_, i) => regexRule(`(?i)[a-z0-9@]{1,${i + 1}}`)),
);
const countries =
  'US VN DE GB FR IT ES PL NL BE AT CH SE NO DK FI PT GR IE CZ HU RO BG TR JP KR IN BR MX AU NZ ZA'.split(
    ' ',
  );
const hostile: Record<string, CompiledCheck[]> = {
  'all types, with exceptions': [
    shapesCheck(
      [...piiShapes({ types: piiTypes, regions }), ...secretShapes(secretTypes)],
      ['*@acme.com', 'x'],
    ),
  ],
  'telephones of 32 countries': [shapesCheck(piiShapes({ types: ['phone'], regions: countries }), [])],
  'many starts, 28 checks': Array.from({ length: 28 }, () => manyStarts),
  'overlapping matches': [overlapping],
};
console.log(
  'checks | text | longest step of about 5,000 characters in ms | µs for 1,000 in pieces of 1 | of 1,000',
);
for (const [set, checks] of Object.entries(hostile)) {
  for (const [name, text] of Object.entries(attacks)) {
    const small = timeOf(checks, piecesOf(text.slice(0, 1_000), [1]));
    console.log(
      [set, name, longestStep(checks, text), small, timeOf(checks, piecesOf(text, [1000]))].join(' | '),
    );
  }
}
