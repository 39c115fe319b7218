/**
 * Prints the hold-back and the time of matching in pieces: 50 patterns, cards, IBANs, keys and JSON web tokens over a
 * corpus in which they find little. `node packages/guardrails/test/measure.ts`
 */
import { readFileSync, readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { bytesOf } from '../src/automaton.ts';
import { compileRules } from '../src/compile-rules.ts';
import { regexRule, type Rule, wordRule } from '../src/rule.ts';
import { type Proof, type ScannedRules, Scanner } from '../src/scanner.ts';

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
const edges = { start: true, end: true };
const candidates: [Rule, Proof][] = [
  [regexRule(String.raw`\d(?:[ -]?\d){11,18}`, { edges, proved: true }), card],
  [regexRule(String.raw`[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){3,8}`, { edges, proved: true }), iban],
];
const keys = [
  regexRule('(?:AKIA|ASIA)[A-Z0-9]{16}', { edges }),
  regexRule('gh[pousr]_[A-Za-z0-9]{36}[A-Za-z0-9]*', { edges: { start: true, end: false } }),
  regexRule('sk-(?:proj-|ant-)?[A-Za-z0-9_-]{32}[A-Za-z0-9_-]*'),
  regexRule('xox[abprs]-[0-9A-Za-z-]{20}[0-9A-Za-z-]*'),
  regexRule('AIza[0-9A-Za-z_-]{35}'),
  regexRule('glpat-[0-9A-Za-z_-]{20}'),
  regexRule('-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[^-]*'),
  regexRule(String.raw`eyJ[\w-]{10,200}\.eyJ[\w-]{5}[\w.-]*`),
  regexRule(String.raw`[a-z]{2,12}://[^\s:/@]{1,40}:[^\s:/@]{3,60}@[\w.-]{1,60}`),
];

function card(candidate: string): { start: number; end: number }[] {
  const number = candidate.replace(/\D/g, '');
  if (!/^(?:4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|3[47]\d{13}|6\d{15})$/.test(number)) return [];
  const digits = number.split('').map(Number);
  const sum = digits.toReversed().reduce((total, digit, i) => {
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0 ? [{ start: 0, end: candidate.length }] : [];
}

function iban(candidate: string): { start: number; end: number }[] {
  const text = candidate.replaceAll(' ', '');
  const moved = text.slice(4) + text.slice(0, 4);
  let rest = 0;
  for (const each of moved) {
    for (const digit of String(Number.parseInt(each, 36))) rest = (rest * 10 + Number(digit)) % 97;
  }
  return rest === 1 ? [{ start: 0, end: candidate.length }] : [];
}

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
function pieces(text: string): string[] {
  const cut: string[] = [];
  for (let at = 0, seed = 7; at < text.length;) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    const size = 1 + ((seed >> 8) % 40);
    cut.push(text.slice(at, at + size));
    at += size;
  }
  return cut;
}

function measure(checks: readonly ScannedRules[], text: string): (string | number)[] {
  const cut = pieces(text);
  const held = new Uint32Array(cut.length);
  let found = 0;
  const run = (parts: readonly string[], note: boolean): number => {
    const begun = process.cpuUsage();
    // A stream of an answer is about a kilobyte or ten: a scanner for each eight thousand characters.
    let scanner = new Scanner(checks);
    let length = 0;
    for (const [i, piece] of parts.entries()) {
      length += piece.length;
      const { cleared, matches } = scanner.push(piece);
      if (note) held[i] = length - cleared;
      if (note) found += matches.length;
      if (length < 8000) continue;
      scanner.end();
      scanner = new Scanner(checks);
      length = 0;
    }
    scanner.end();
    return process.cpuUsage(begun).user / (text.length / 1000);
  };
  run(cut, true);
  const whole = Array.from({ length: Math.ceil(text.length / 1000) }, (_, i) =>
    text.slice(i * 1000, (i + 1) * 1000),
  );
  const inPieces = Math.min(run(cut, false), run(cut, false), run(cut, false));
  const inKilobytes = Math.min(run(whole, false), run(whole, false), run(whole, false));
  return [
    quantile(held, 0.5),
    quantile(held, 0.99),
    quantile(held, 1),
    inPieces.toFixed(1),
    inKilobytes.toFixed(1),
    found,
  ];
}

const begun = performance.now();
const patterns = compileRules([...words.map(wordRule), ...regexes.map((each) => regexRule(each))]);
const compiledPatterns = performance.now() - begun;
const built = compileRules([...candidates.map(([rule]) => rule), ...keys]);
const compiledAll = performance.now() - begun;
const checks: ScannedRules[] = [
  { automata: patterns },
  { automata: built, proofs: candidates.map(([, proof]) => proof) },
];
console.log(
  `50 patterns: ${patterns.length} automata, ${String(patterns.reduce((sum, each) => sum + each.matched.length, 0))} states, ${String(Math.round(patterns.reduce((sum, each) => sum + bytesOf(each), 0) / 1000))} kB, ${compiledPatterns.toFixed(0)} ms; built-in: ${built.length} automata, ${String(built.reduce((sum, each) => sum + each.matched.length, 0))} states, ${(compiledAll - compiledPatterns).toFixed(0)} ms`,
);
console.log('corpus | held p50 | p99 | max | µs/kB in pieces of 1 to 40 | in pieces of 1,000 | matches');
for (const [name, text] of Object.entries(corpora)) {
  console.log([name, ...measure(checks, text)].join(' | '));
}

// The most starts followed at once, in as many automata as a check may have.
const hostile = compileRules(Array.from({ length: 16 }, (_, i) => regexRule(`[a-z]{1,${250 - i}}${i}`)));
const [, , , inPieces, inKilobytes] = measure([{ automata: hostile }], 'az'.repeat(5000));
console.log(`hostile: ${hostile.length} automata | µs/kB ${inPieces} | ${inKilobytes}`);
