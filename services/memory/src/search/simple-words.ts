/**
 * The analyser `simple`, for languages without a stemmer and for code: whole words without case and marks, and parts of
 * words, so that Vietnamese is found without its marks, Japanese without spaces, and `getUserById` by `user`.
 */

export interface CountedTerms {
  terms: string[];
  counts: number[];
}

/** Scripts that don't separate words: two neighbouring characters are a term. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
const word = /[\p{L}\p{N}\p{M}_]+/gu;
const maxWordChars = 128;
/** Marks terms that are parts of words, which weigh less than words. */
const part = '\u0001';

/** The terms of a text, and how often each occurs. */
export function simpleTerms(text: string): CountedTerms {
  const counts = new Map<string, number>();
  const add = (term: string): void => void counts.set(term, (counts.get(term) ?? 0) + 1);
  for (const [found] of text.normalize('NFKC').matchAll(word)) termsOf(found.slice(0, maxWordChars), add);
  return { terms: [...counts.keys()], counts: [...counts.values()] };
}

/** Whether a term is a part of a word. */
export function isPart(term: string): boolean {
  return term.startsWith(part);
}

function termsOf(found: string, add: (term: string) => void): void {
  let rest = found;
  for (const [run] of found.matchAll(unspaced)) {
    rest = rest.replace(run, ' ');
    const characters = Array.from(run);
    if (characters.length === 1) add(run);
    for (let at = 0; at + 1 < characters.length; at += 1) add(`${characters[at]}${characters[at + 1]}`);
  }
  for (const spaced of rest.split(' ')) if (spaced !== '') spacedTerms(spaced, add);
}

function spacedTerms(spaced: string, add: (term: string) => void): void {
  const lower = spaced.toLowerCase();
  const plain = withoutMarks(lower);
  add(plain);
  if (plain !== lower) add(lower);
  const names = partsOfName(spaced);
  if (names.length > 1) for (const name of names) add(withoutMarks(name.toLowerCase()));
  const characters = Array.from(plain);
  for (let at = 0; characters.length > 3 && at + 3 <= characters.length; at += 1)
    add(part + characters.slice(at, at + 3).join(''));
}

/** `getUserById`, `HTTPServer2` and `user_name` → their words. */
function partsOfName(name: string): string[] {
  return name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .split('_')
    .filter((each) => each !== '');
}

function withoutMarks(lower: string): string {
  return lower.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('đ', 'd').normalize('NFC');
}
