import { alphabets, keyFormats, type KeyFormat } from './key-formats.ts';
import { literals, mayStart } from './literals.ts';
import { longestCandidate, type Candidate, type Shape, type Verdict } from './shape.ts';
import { endsToken, matchIf, runEnd, startsToken } from './tokens.ts';

/** Text of keys in documents, which open nothing. Long enough that random keys don't have it. */
const placeholder =
  /example|placeholder|redacted|x{6}|0{8}|12345678|abcdefgh|your[-_]?(?:api|key|token|secret)|(.)\1{7}/i;

/** The fewest different characters of a key. */
const fewestDistinct = 6;

/** The longest judged part. Longer tokens are keys by it alone. */
const longestPart = longestCandidate - 2;

const byFirst = Map.groupBy(keyFormats, ({ prefix }) => prefix.charCodeAt(0));

/** Keys of known makers and of this gateway, by what they begin with, their alphabet and their length. */
export const apiKey: Shape = {
  type: 'api_key',
  next: literals(keyFormats.map(({ prefix }) => prefix)),

  at(text, start, ended) {
    if (!startsToken(text, start)) return null;
    for (const format of byFirst.get(text.charCodeAt(start)) ?? []) {
      if (!mayStart(format.prefix, text, start)) continue;
      const verdict = atFormat(format, { text, start, ended });
      if (verdict !== null) return verdict;
    }
    return null;
  },

  rest: (text, end) => runEnd(/[A-Za-z0-9_.=+/-]*/y, text, end),
};

function atFormat(
  { prefix, alphabet, least, most = Infinity }: KeyFormat,
  { text, start, ended }: Candidate,
): Verdict {
  const body = start + prefix.length;
  if (body >= text.length) return ended ? null : 'undecided';
  const run = runEnd(alphabets[alphabet], text, body);
  const end = Math.min(run, start + longestPart);
  if (run === text.length && end === run && !ended) return run - body > most ? null : 'undecided';
  const value = text.slice(body, end).replace(/\.+$/, '');
  if (value.length < least || value.length > most || !isRandom(value, prefix)) return null;
  return run > end
    ? { start, end, hasRest: true }
    : matchIf(endsToken(text, run, ended), start, body + value.length);
}

/** Prefixes of names of programs and styles too, as in `sk-container-id-1`. */
const wordPrefixes = new Set(['sk-', 'pa-', 're_', 'fw_', 'key-', 'secret_']);

/** Whether the characters after a prefix are a key, and no example of one or a name. */
function isRandom(value: string, prefix: string): boolean {
  const isMixed = /[a-z]/.test(value) && /[A-Z]/.test(value);
  if (wordPrefixes.has(prefix) && !isMixed && !/^[0-9a-f]{32,}$/.test(value)) return false;
  return !placeholder.test(value) && new Set(value).size >= fewestDistinct;
}
