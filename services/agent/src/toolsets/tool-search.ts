import { runCooperatively } from '@gatehouse/kit/cooperative';
import { searchedAtOnce, searchedChars, searchedTerms } from '../bounds.ts';
import type { ListedTool } from './toolset-tools.ts';

/** A word of a name counts as much as so many of a description. */
const nameWeight = 3;
/** The weight of a word with only the beginning of the wanted one. */
const prefixWeight = 0.5;
/** How fast further occurrences of a word count less: `k1` of BM25. */
const saturation = 1.2;

/**
 * The best tools for a query, the best first: by words of names and descriptions, where rare words count more, as
 * in BM25 without regard to lengths. Tools without any of the words are left out.
 */
export async function bestTools(
  tenantId: string,
  tools: readonly ListedTool[],
  { q, limit }: { q: string; limit: number },
): Promise<ListedTool[]> {
  const terms = [...new Set(wordsOf(q))].slice(0, searchedTerms);
  const matches: { tool: ListedTool; counts: number[] }[] = [];
  for (let from = 0; from < tools.length; from += searchedAtOnce) {
    const piece = tools.slice(from, from + searchedAtOnce);
    const counted = await runCooperatively(tenantId, () =>
      piece.map((tool) => ({ tool, counts: countsOf(tool, terms) })),
    );
    matches.push(...counted.filter(({ counts }) => counts.some((count) => count > 0)));
  }
  const rarity = terms.map((_, term) => {
    const having = matches.filter(({ counts }) => (counts[term] ?? 0) > 0).length;
    return Math.log(1 + (tools.length - having + 0.5) / (having + 0.5));
  });
  const score = (counts: readonly number[]): number =>
    counts.reduce((sum, count, term) => sum + ((rarity[term] ?? 0) * count) / (count + saturation), 0);
  return matches
    .map(({ tool, counts }) => ({ tool, score: score(counts) }))
    .toSorted((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .slice(0, limit)
    .map(({ tool }) => tool);
}

/** How often each term is in a tool, by weight. */
function countsOf({ name, description }: ListedTool, terms: readonly string[]): number[] {
  const counts = terms.map(() => 0);
  const count = (words: readonly string[], weight: number): void => {
    for (const word of words)
      for (const [index, term] of terms.entries())
        if (word.startsWith(term))
          counts[index] = (counts[index] ?? 0) + weight * (word === term ? 1 : prefixWeight);
  };
  count(wordsOf(name), nameWeight);
  count(wordsOf(description.slice(0, searchedChars)), 1);
  return counts;
}

/** The words of a text in lower case; `searchTickets` and `search_tickets` have two. */
function wordsOf(text: string): string[] {
  const apart = text.replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ');
  return apart.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
