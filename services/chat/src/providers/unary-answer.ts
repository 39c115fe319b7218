import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { hasMoreContainers } from '@gatehouse/kit/json-size';
import { ProviderFailure } from './provider-failure.ts';
import { KeptText } from '../openai/kept-text.ts';
import { messageText } from '../openai/stream-reader.ts';
import { sampleOf, type TextSample } from '../openai/token-estimate.ts';
import { readServiceTier, readUsage } from '../openai/usage-reader.ts';
import type { Usage } from '../openai/usage.ts';

/** Parsing a million objects and arrays takes 100 MiB and blocks other requests for 300 ms. */
const maxContainers = 1_000_000;

/** What the gateway reads from a whole answer; the client gets the bytes themselves. */
export interface UnaryAnswer {
  responseModel: string | null;
  usage: Usage | null;
  /** The tier that served the call, where the provider names it. */
  serviceTier: string | null;
  /** The text that was answered, for previews and estimates. */
  answer: TextSample;
  /** What the model says in its first choice, cut; empty unless it is kept. */
  text: string;
}

/** Throws an `invalid` failure if the bytes are no answer, so that a broken provider does not count as a success. */
export function readUnaryAnswer(provider: string, bytes: Buffer, keepsText = false): UnaryAnswer {
  if (hasMoreContainers(bytes, maxContainers)) throw new ProviderFailure('invalid', provider);
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new ProviderFailure('invalid', provider, { cause: error });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new ProviderFailure('invalid', provider);
  const answer = parsed as Record<string, unknown>;
  const { model, usage, choices, data, error } = answer;
  // Some servers wrap their errors in a 200.
  if (error !== undefined && error !== null) throw new ProviderFailure('status', provider, { status: 502 });
  if (!Array.isArray(choices) && !Array.isArray(data)) throw new ProviderFailure('invalid', provider);
  return {
    responseModel: typeof model === 'string' ? cutText(model, textLimits.response_model) : null,
    usage: readUsage(usage),
    serviceTier: readServiceTier(answer),
    answer: sampleOf(Array.isArray(choices) ? choices.map(choiceText).join('\n') : ''),
    text: keepsText && Array.isArray(choices) ? saidIn(choices[0]) : '',
  };
}

function saidIn(choice: unknown): string {
  const said = new KeptText();
  said.add((choice as { message?: unknown } | null)?.message);
  return said.text;
}

function choiceText(choice: unknown): string {
  const { message } = (choice ?? {}) as { message?: unknown };
  return typeof message === 'object' && message !== null
    ? messageText(message as Record<string, unknown>)
    : '';
}
