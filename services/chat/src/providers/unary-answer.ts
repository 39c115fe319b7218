import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { ProviderFailure } from './provider-failure.ts';
import {
  elementRanges,
  isParsable,
  memberRanges,
  parsedPart,
  wholeOf,
  type Range,
} from '../openai/json-parts.ts';
import { KeptText } from '../openai/kept-text.ts';
import { messageText } from '../openai/stream-reader.ts';
import { sampleOf, type TextSample } from '../openai/token-estimate.ts';
import { isFields } from '../openai/tool-calls.ts';
import { readServiceTier, readUsage } from '../openai/usage-reader.ts';
import type { Usage } from '../openai/usage.ts';

/** Each is parsed by itself in an answer that is too large. */
const maxMemberBytes = 64 * 1024;
const maxChoices = 256;

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

export interface ReadAnswerOptions {
  /** Takes its turns at the event loop for large answers. */
  tenantId: string | null;
  keepsText?: boolean;
}

/**
 * Throws an `invalid` failure if the bytes are no answer, so that a broken provider does not count as a success. Of an
 * answer that can't be parsed within 50 ms, reads the members that count, and not whether the rest is well formed.
 */
export async function readUnaryAnswer(
  provider: string,
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadAnswerOptions,
): Promise<UnaryAnswer> {
  const whole = wholeOf(bytes);
  const isParsed = await isParsable(bytes, whole, tenantId);
  const read = isParsed
    ? { answer: await parsedPart(bytes, whole, tenantId), unreadChars: 0 }
    : await membersOf(bytes, tenantId);
  const { answer, unreadChars } = read;
  if (!isFields(answer)) throw new ProviderFailure('invalid', provider);
  const { model, usage, choices, data, error } = answer;
  // Some servers wrap their errors in a 200.
  if (error !== undefined && error !== null) throw new ProviderFailure('status', provider, { status: 502 });
  if (!Array.isArray(choices) && !Array.isArray(data)) throw new ProviderFailure('invalid', provider);
  const { beginning, chars } = sampleOf(Array.isArray(choices) ? choices.map(choiceText).join('\n') : '');
  return {
    responseModel: typeof model === 'string' ? cutText(model, textLimits.response_model) : null,
    usage: readUsage(usage),
    serviceTier: readServiceTier(answer),
    answer: { beginning, chars: chars + unreadChars },
    text: keepsText && Array.isArray(choices) ? saidIn(choices[0]) : '',
  };
}

interface LargeAnswer {
  answer: Record<string, unknown> | null;
  /** Characters of messages beyond what is in the answer. */
  unreadChars: number;
}

/** Reads the members that count, of a large object, with the messages of its choices. */
async function membersOf(bytes: Buffer, tenantId: string | null): Promise<LargeAnswer> {
  const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
  if (members === null) return { answer: null, unreadChars: 0 };
  const small = async (name: string, otherwise?: unknown): Promise<unknown> => {
    const range = members.get(name);
    if (range === undefined) return undefined;
    return range.until - range.from > maxMemberBytes ? otherwise : parsedPart(bytes, range, tenantId);
  };
  const elements = async (name: string, max: number): Promise<readonly Range[] | null> => {
    const range = members.get(name);
    return range === undefined ? null : elementRanges(bytes, range, { tenantId, max });
  };
  const choices = await elements('choices', maxChoices);
  const read = await Promise.all((choices ?? []).map((choice) => choiceOf(bytes, choice, tenantId)));
  // Vectors are the client's.
  const data = await elements('data', 0);
  return {
    answer: {
      model: await small('model'),
      usage: await small('usage'),
      service_tier: await small('service_tier'),
      error: await small('error', true),
      ...(choices !== null && { choices: read.map(({ message }) => ({ message })) }),
      ...(data !== null && { data }),
    },
    unreadChars: read.reduce((sum, { unreadChars }) => sum + unreadChars, 0),
  };
}

async function choiceOf(
  bytes: Buffer,
  choice: Range,
  tenantId: string | null,
): Promise<{ message: unknown; unreadChars: number }> {
  const members = await memberRanges(bytes, choice, tenantId);
  const range = members?.get('message');
  if (range === undefined) return { message: null, unreadChars: 0 };
  if (await isParsable(bytes, range, tenantId))
    return { message: await parsedPart(bytes, range, tenantId), unreadChars: 0 };
  // It counts as it is written.
  const { from, until } = range;
  const content = bytes.toString('latin1', from, Math.min(until, from + maxMemberBytes));
  return { message: { content }, unreadChars: until - from - content.length };
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
