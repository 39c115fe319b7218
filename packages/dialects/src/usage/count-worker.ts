import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base';

/**
 * Counted in pieces of this length: a run without word ends takes the tokenizer quadratic time, 4.8 s for 20,000 CJK
 * characters against 50 ms in pieces. A cut costs a token at most.
 */
const pieceChars = 200;

/** A prompt may hold `<|endoftext|>` like any other text. */
const asText = { disallowedSpecial: new Set<string>() };

// Words of several tokens, each of up to a piece: 20 MB at most, a tenth of the default.
setMergeCacheSize(10_000);

/**
 * Tokens of each text as OpenAI's current models count them (o200k_base). The task of a sandbox: this file loads the
 * tokenizer, whose table of 2.4 MB is compiled for about 210 ms and takes 70 MB.
 */
export function countAll(texts: readonly string[]): number[] {
  return texts.map(countOf);
}

function countOf(text: string): number {
  let tokens = 0;
  for (let at = 0; at < text.length; at += pieceChars)
    tokens += countTokens(text.slice(at, at + pieceChars).toWellFormed(), asText);
  return tokens;
}
