import type { Shape } from './shape.ts';
import { runEnd } from './tokens.ts';

const words =
  'password passwd passphrase pwd secret token apikey api_key api-key accesskey access_key access-key ' +
  'privatekey private_key private-key authkey auth_key auth-key credential credentials';
const names = words.split(' ');
const longestName = Math.max(...names.map((name) => name.length));
const prefixes = new Set(names.flatMap((name) => Array.from(name, (_, at) => name.slice(0, at + 1))));

const anyName =
  /passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access|private|auth)[_-]?key|credentials?/gi;
const name = new RegExp(String.raw`(?:${anyName.source})[\w-]{0,30}`, 'iy');
const afterName = /["'\]]{0,2}[ \t]{0,4}/y;
const operator = /(?:=>|:=|==?|:)/y;
const quote = /[ \t]{0,4}["'\x60]?/y;

/** The longest judged value. The rest of a longer one belongs to it. */
const longestValue = 128;
const value = /[A-Za-z0-9+/=_\-.!@#$%^*~]{0,128}/y;
const valueRest = /[A-Za-z0-9+/=_\-.!@#$%^*~]*/y;

/** The shortest value with three kinds of characters, and with two. */
const shortest = { mixed: 8, plain: 20 };

/** The least entropy of a value, in bits for each character. */
const leastEntropy = { mixed: 2.75, plain: 3.25 };

/** Values of high entropy assigned to a name for secrets, as in `password = …`. The match is the value. */
export const assignment: Shape = {
  type: 'assignment',
  next,

  at(text, start, ended) {
    const afterWord = runEnd(name, text, start);
    if (afterWord === text.length) return ended ? null : 'undecided';
    if (afterWord === start) return !ended && isPrefix(text.slice(start)) ? 'undecided' : null;
    const sign = runEnd(afterName, text, afterWord);
    if (sign === text.length) return ended ? null : 'undecided';
    const open = runEnd(operator, text, sign);
    if (open === sign) return null;
    const begin = runEnd(quote, text, open);
    const end = runEnd(value, text, begin);
    if (end === text.length && !ended) return 'undecided';
    // Calls and indexed names are code, not values.
    const isCode = text[end] === '(' || text[end] === '[' || text[end] === '{';
    if (isCode || !isSecret(text.slice(begin, end))) return null;
    return { start: begin, end, hasRest: end - begin === longestValue };
  },

  rest: (text, end) => runEnd(valueRest, text, end),
};

function next(text: string, from: number): number {
  anyName.lastIndex = from;
  const hit = anyName.exec(text);
  if (hit) return hit.index;
  for (let index = Math.max(from, text.length - longestName); index < text.length; index += 1) {
    if (isPrefix(text.slice(index))) return index;
  }
  return -1;
}

function isPrefix(text: string): boolean {
  return prefixes.has(text.toLowerCase());
}

/** Whether a value is random: kinds of characters, length and entropy. Names and words joined by hyphens are not. */
function isSecret(text: string): boolean {
  const bare = text.replace(/[.=]+$/, '');
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[+/!@#$%^*~]/].filter((kind) => kind.test(bare)).length;
  const digits = bare.replaceAll(/\D/g, '').length;
  const bits = entropy(bare);
  if (/^[$%~./]/.test(bare) || !/[A-Za-z]/.test(bare) || digits === 0) return false;
  if (kinds >= 3 && bare.length >= shortest.mixed && bits >= leastEntropy.mixed) return !isName(bare);
  return bare.length >= shortest.plain && bits >= leastEntropy.plain && digits >= 4 && !isName(bare);
}

/** Whether a text is words and versions, joined in one of the ways of programs. */
function isName(text: string): boolean {
  return text.split(/[-_./]/).every((part) => /^[A-Za-z]*\d{0,4}$/.test(part));
}

/** Shannon's entropy of the characters of a text, in bits for each. */
export function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce(
    (sum, count) => sum - (count / text.length) * Math.log2(count / text.length),
    0,
  );
}
