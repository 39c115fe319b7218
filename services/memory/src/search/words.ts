/**
 * Splits text into words for the index by the properties of Unicode, whatever the locale of a database.
 * `Intl.Segmenter` is as fast, but its dictionaries for dividing Chinese, Japanese and Thai differ between releases of
 * Node: an index would not fit later queries.
 *
 * The words of a text are one string with spaces between them, which processes and PostgreSQL take as it is. The first
 * character of each word is its kind.
 */

/** Kinds of words. */
export const kinds = {
  /** `a` to `z` only: a stemmer may shorten it. */
  ascii: 'a',
  /** Another word without case and marks. */
  plain: 'w',
  /** A word with its marks, and a whole word of Hangul. */
  marked: 'm',
  /** Two neighbouring characters of a script without spaces between words. */
  pair: 'p',
  /** A character of the same scripts, and perhaps a word. Queries leave it out: their pairs say more. */
  single: 'c',
  /** A part of a name in code, or the whole name. */
  name: 'n',
} as const;

/** Characters read of a text after its normalisation, in which one character may become 18. */
const maxChars = 8_192;
const maxWordChars = 128;

const nonAscii = /[^\0-\x7f]/;
const asciiWords = /[A-Za-z0-9_]+/g;
const unicodeWords = /[\p{L}\p{N}\p{M}_]+/gu;
const readable = /[\p{L}\p{N}]/u;
/** Soft hyphens, joiners, variation selectors, marks of direction. */
const invisible = /\p{Default_Ignorable_Code_Point}+/gu;
/** Letters by their category, but written where others write an apostrophe. */
const apostropheLetters = /[\u02b9-\u02bd\ua78c]/g;
/** In scripts other than Latin, an apostrophe inside a word is part of it, as in Ukrainian `п’ять`. */
const innerApostrophe = /(?<=(?!\p{Script=Latin})\p{L}\p{M}*)['’](?=(?!\p{Script=Latin})\p{L})/gu;
/** Scripts without spaces between words, and Hangul, which appends particles to words. */
const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Hangul}]+/gu;
const hangul = /^\p{scx=Hangul}+$/u;
const mayBeWord = /[\p{scx=Han}\p{scx=Hangul}]/u;
const asciiLetters = /^[a-z]+$/;
const innerCapital = /[^]\p{Lu}/u;
/** The beginnings of words in `getUserById` and `HTTPServer2`. */
const beforeCapital = /(?<=\p{Ll}|\p{N})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;

/** The words of a text of a few thousand characters. A mebibyte in pieces of this size takes 90 to 350 ms. */
export function wordsOf(text: string): string {
  const words: string[] = [];
  const readableText = nonAscii.test(text) ? normalised(text) : text.slice(0, maxChars);
  const pattern = nonAscii.test(readableText) ? unicodeWords : asciiWords;
  for (const [match] of readableText.matchAll(pattern)) addWords(words, match.slice(0, maxWordChars));
  return words.join(' ');
}

function normalised(text: string): string {
  return text
    .normalize('NFKC')
    .slice(0, maxChars)
    .replace(invisible, '')
    .replace(apostropheLetters, "'")
    .replace(innerApostrophe, '');
}

function addWords(words: string[], match: string): void {
  if (!nonAscii.test(match)) {
    addSpaced(words, match);
    return;
  }
  let at = 0;
  for (const { 0: run, index } of match.matchAll(unspaced)) {
    addSpaced(words, match.slice(at, index));
    addUnspaced(words, run);
    at = index + run.length;
  }
  addSpaced(words, match.slice(at));
}

function addUnspaced(words: string[], run: string): void {
  const characters = Array.from(run);
  if (characters.length === 1) words.push(kinds.plain + run);
  else
    for (const [index, character] of characters.entries()) {
      if (mayBeWord.test(character)) words.push(kinds.single + character);
      const next = characters[index + 1];
      if (next !== undefined) words.push(kinds.pair + character + next);
    }
  if (characters.length > 2 && hangul.test(run)) words.push(kinds.marked + run);
}

function addSpaced(words: string[], match: string): void {
  if (match.includes('_')) {
    for (const name of match.split('_')) addWord(words, name);
    addPlain(words, kinds.name, match);
  } else addWord(words, match);
}

function addWord(words: string[], word: string): void {
  if (!readable.test(word)) return;
  const lower = word.toLowerCase();
  const plain = withoutMarks(lower);
  words.push((asciiLetters.test(plain) ? kinds.ascii : kinds.plain) + plain);
  if (plain !== lower) words.push(kinds.marked + lower);
  if (!innerCapital.test(word)) return;
  const names = word.replace(beforeCapital, '_').split('_');
  if (names.length > 1) for (const name of names) addPlain(words, kinds.name, name);
}

function addPlain(words: string[], kind: string, word: string): void {
  words.push(kind + withoutMarks(word.toLowerCase()));
}

/** Optional marks of scripts. In others, like Devanagari, marks are vowels. */
const marks = /(?=\p{M})[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}]/gu;
/** Letters with a mark not separated by Unicode, and letters standing for two. */
const latin = { đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ł: 'l', ø: 'o', ŧ: 't', þ: 'th', ß: 'ss', æ: 'ae', œ: 'oe' };
/** Forms of one letter, and the bar for lengthening a word. */
const arabic = { ى: 'ي', ی: 'ي', ک: 'ك', ة: 'ه', ـ: '' };
const letters: Readonly<Record<string, string>> = { ...latin, ...arabic, ς: 'σ' };
const otherLetters = new RegExp(`[${Object.keys(letters).join('')}]`, 'gu');

function withoutMarks(lower: string): string {
  if (!nonAscii.test(lower)) return lower;
  return lower
    .normalize('NFD')
    .replace(marks, '')
    .replace(otherLetters, (letter) => letters[letter] ?? letter)
    .normalize('NFC');
}
