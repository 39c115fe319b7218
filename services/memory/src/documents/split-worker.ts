import { wordsOf } from '../search/words.ts';
import { searchedText, splitMarkdown, type Passage } from './split-markdown.ts';

/** Splits texts into passages, and passages into words. Runs apart from the service. */
export function split(texts: readonly string[]): Passage[][] {
  return texts.map((text) =>
    splitMarkdown(text).map((passage) => ({ ...passage, words: wordsOf(searchedText(passage)) })),
  );
}
