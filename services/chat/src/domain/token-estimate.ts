/** Past this a tokenizer would hold the event loop; the rest is counted by the ratio of the beginning. */
const exactChars = 20_000;

let tokenizer: Promise<(text: string) => number> | undefined;

/**
 * Tokens of a text as OpenAI's current models count them (o200k_base). Loaded at the first need, since its table takes
 * memory and most runs never need it.
 */
export async function estimateTokens(text: string): Promise<number> {
  if (text === '') return 0;
  tokenizer ??= import('gpt-tokenizer/encoding/o200k_base').then(({ countTokens }) => countTokens);
  const countTokens = await tokenizer;
  const sample = text.slice(0, exactChars).toWellFormed();
  return Math.ceil((countTokens(sample) * text.length) / sample.length);
}

/** A guess that needs no text: about four bytes make a token. */
export function guessTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}
