import { splitMarkdown, type Passage } from './split-markdown.ts';

/** Runs in a worker thread. */
export function split(texts: readonly string[]): Passage[][] {
  return texts.map(splitMarkdown);
}
