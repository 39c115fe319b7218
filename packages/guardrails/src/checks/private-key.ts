import { hits, type Shape } from './shape.ts';
import { runEnd } from './tokens.ts';

/** The first line of a private key in PEM form, or of OpenPGP. */
const firstLine = /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----/y;
const partialFirstLine = /^-{0,5}(?:(?<=^-----)BEGIN [A-Z0-9 ]{0,48}-{0,5})?$/;

/** Line ends, also escaped, quotes and `+` between parts of a text, and headers before the first line of the key. */
const gap = String.raw`(?:\s|\\+[nrt]|["'+,\\])`;
const lineEnd = String.raw`(?:\r?\n|(?:\\+r)?\\+n)`;
const head = String.raw`^.{0,70}?KEY(?: BLOCK)?-----${gap}{0,12}(?:[A-Z][A-Za-z-]{2,16}:[^\r\n\\]{0,60}${lineEnd}${gap}{0,4}){0,2}`;
const proof = new RegExp(String.raw`${head}[A-Za-z0-9+/]{20}`);
const partialProof = new RegExp(
  String.raw`${head}(?:[A-Z][A-Za-z-]{0,16}(?::[^\r\n\\]{0,60}(?:\r|\\+r?\\*)?)?|[A-Za-z0-9+/]{0,19})$`,
);
const keyCharacters = /[A-Za-z0-9+/=\s\\\-:,"'.()_]*/y;
const lastLine = /-----END [A-Z0-9 ]{0,40}-----/g;
const longestLastLine = 60;
const longestProof = 250;

/** Private keys in PEM and OpenPGP form, with their first line and the beginning of the key. */
export const privateKey: Shape = {
  type: 'private_key',
  next: hits(/-----BEGIN |-{1,5}$|-----(?:B|BE|BEG|BEGI|BEGIN)$/g),

  at(text, start, ended) {
    const begin = text.slice(start, start + longestProof);
    const isCut = !ended && begin.length < longestProof;
    if (runEnd(firstLine, text, start) === start) {
      return isCut && isPartial(begin) ? 'undecided' : null;
    }
    const first = proof.exec(begin);
    if (first) return { start, end: start + first[0].length, hasRest: true };
    return isCut && partialProof.test(begin) ? 'undecided' : null;
  },

  rest(text, end) {
    const run = runEnd(keyCharacters, text, end);
    const begin = Math.max(0, end - longestLastLine);
    for (const hit of text.slice(begin, run).matchAll(lastLine)) {
      const last = begin + hit.index + hit[0].length;
      if (last >= end) return last;
    }
    return run;
  },
};

function isPartial(begin: string): boolean {
  return '-----BEGIN '.startsWith(begin) || partialFirstLine.test(begin);
}
