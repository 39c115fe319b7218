import { wordsOf } from '../search/words.ts';
import { searchedText, splitMarkdown, splitPlain, type Passage } from './split-markdown.ts';

export interface Splitting {
  texts: readonly string[];
  /** Without reading Markdown, which takes time in proportion to the texts. */
  plain: boolean;
}

/** Splits texts into passages, and passages into words. Runs in a sandbox. */
export function split({ texts, plain }: Splitting): Passage[][] {
  const passagesOf = plain ? splitPlain : splitMarkdown;
  return texts.map((text) =>
    passagesOf(text).map((passage) => ({ ...passage, words: wordsOf(searchedText(passage)) })),
  );
}
