import path from 'node:path';
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

/** Counts the tokens of a tenant's text; null where it can't, or not soon. */
export type TokenCount = (text: string, tenantId: string) => Promise<number | null>;

/** The file of the task `countAll`, for a sandbox. */
export const countWorker = path.join(
  import.meta.dirname,
  `count-worker${path.extname(import.meta.filename)}`,
);

/** For tests and scripts: on the event loop, which it holds while it loads the tokenizer and counts. */
let counter: TokenCount = async (text) => {
  const { countAll } = await import('./count-worker.ts');
  return countAll([text])[0] ?? null;
};

/** Sets the counter for estimates in this process. */
export function countBy(count: TokenCount): void {
  counter = count;
}

let making: Promise<unknown> = Promise.resolve();
let turnBeganAt = -Infinity;

function sampleInTurn(make: () => TextSample): Promise<TextSample> {
  const made = making.then(async () => {
    if (monotonicMs() - turnBeganAt > estimateTurnMs) {
      await setImmediate();
      turnBeganAt = monotonicMs();
    }
    return make();
  });
  making = made.catch(() => undefined);
  return made;
}

/**
 * Tokens of a text as OpenAI's current models count them (o200k_base), or a guess by its bytes. A function makes its
 * sample once its turn has come.
 */
export async function estimateTokens(
  sample: TextSample | (() => TextSample),
  tenantId: string,
): Promise<number> {
  const { beginning, chars } = typeof sample === 'function' ? await sampleInTurn(sample) : sample;
  if (beginning === '') return 0;
  const tokens = (await counter(beginning, tenantId)) ?? guessTokens(Buffer.byteLength(beginning));
  return toTokens((tokens * chars) / beginning.length);
}

/** A guess from the size alone: about four bytes make a token. */
export function guessTokens(bytes: number): number {
  return toTokens(bytes / 4);
}
