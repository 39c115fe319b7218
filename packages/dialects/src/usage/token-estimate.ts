import { setImmediate } from 'node:timers/promises';
import { cutText } from '@gatehouse/events/cut-text';
import { monotonicMs } from '@gatehouse/kit/clock';
import { toTokens } from './tokens.ts';
import { estimateTurnMs, sampleChars } from '../bounds.ts';

/** The beginning of a text, and the length of the whole. */
export interface TextSample {
  beginning: string;
  chars: number;
}

/** A text with one token for each repetition. */
const oneToken = ' a';

/** A sample for an estimate of tokens and for a preview. */
export function sampleOf(text: string): TextSample {
  return { beginning: cutText(text, sampleChars), chars: text.length };
}

/** A sample of successive texts. */
export class SampleBuilder {
  readonly #texts: string[] = [];
  #chars = 0;

  add(text: string): void {
    this.addSample({ beginning: text, chars: text.length });
  }

  /** Adds a text by a sample of it. */
  addSample({ beginning, chars }: TextSample): void {
    const left = sampleChars - this.#chars;
    if (beginning !== '' && left > 0) this.#texts.push(cutText(beginning, left));
    this.#chars += chars;
  }

  /** Adds tokens without a text. */
  addTokens(count: number): void {
    const sampled = Math.min(count, sampleChars);
    this.add(oneToken.repeat(sampled));
    this.addChars(oneToken.length * (count - sampled));
  }

  /** Whether nothing of a further text would be in the sample. */
  get isFull(): boolean {
    return this.#chars >= sampleChars;
  }

  /** Adds characters of an unknown text: they count as those of the sample. */
  addChars(chars: number): void {
    this.#chars += toTokens(chars);
  }

  get built(): TextSample {
    return { beginning: this.#texts.join(''), chars: this.#chars };
  }
}

/** Characters counted without a break for other requests; 30 ms at worst. */
const turnChars = 10_000;

/**
 * Counted in pieces of this length: a run without word ends takes the tokenizer quadratic time, 4.8 s for 20,000 CJK
 * characters against 50 ms in pieces. A cut costs a token at most.
 */
const pieceChars = 200;

/** A prompt may hold `<|endoftext|>` like any other text. */
const asText = { disallowedSpecial: new Set<string>() };

type CountTokens = (text: string, options: typeof asText) => number;

let counting: Promise<unknown> = Promise.resolve();
let turnBeganAt = -Infinity;
let tokenizer: CountTokens | undefined;

/**
 * Loads the tokenizer. Its table of 2.4 MB is compiled on the event loop for about 210 ms and takes 70 MB. Called while
 * a service starts, so no request waits for it.
 */
export async function loadTokenizer(): Promise<void> {
  await loadedTokenizer();
}

async function loadedTokenizer(): Promise<CountTokens> {
  if (tokenizer === undefined) {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
    // The first words compile the rest.
    countTokens('The first words. Größe, 東京.', asText);
    tokenizer = countTokens;
  }
  return tokenizer;
}

/** Tokens of a text as OpenAI's current models count them (o200k_base). A function makes its sample once its turn has come. */
export async function estimateTokens(sample: TextSample | (() => TextSample)): Promise<number> {
  // One at a time: several would each block other requests for a turn.
  const counted = counting.then(() => countSample(sample));
  counting = counted.catch(() => undefined);
  return counted;
}

async function countSample(sample: TextSample | (() => TextSample)): Promise<number> {
  const countTokens = tokenizer ?? (await loadedTokenizer());
  if (monotonicMs() - turnBeganAt > estimateTurnMs) {
    await setImmediate();
    turnBeganAt = monotonicMs();
  }
  const { beginning, chars } = typeof sample === 'function' ? sample() : sample;
  if (beginning === '') return 0;
  let tokens = 0;
  for (let at = 0; at < beginning.length; at += pieceChars) {
    if (at > 0 && at % turnChars === 0) await setImmediate();
    tokens += countTokens(beginning.slice(at, at + pieceChars).toWellFormed(), asText);
  }
  return toTokens((tokens * chars) / beginning.length);
}

/** A guess from the size alone: about four bytes make a token. */
export function guessTokens(bytes: number): number {
  return toTokens(bytes / 4);
}
