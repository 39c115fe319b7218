import { createHash } from 'node:crypto';
import { newId } from '@gatehouse/kit/ids';
import type { CallPart, Part, ResultPart, Turn } from './conversation.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { textOf } from './fields.ts';

/** Valid ids of calls in an API. */
export interface IdRule {
  fits: (id: string) => boolean;
  prefix: string;
  /** The number of digits behind the prefix. Default: 24. */
  digits?: number;
}

/** OpenAI takes any 40 characters; others of its kind want those of a name. */
export const chatIds: IdRule = { fits: (id) => /^[\w.:-]{1,40}$/.test(id), prefix: 'call_' };
/** OpenAI takes any 64 characters in responses (https://github.com/openai/codex/issues/14355). */
export const itemIds: IdRule = { fits: (id) => /^[^]{1,64}$/.test(id), prefix: 'call_' };
export const messagesIds: IdRule = { fits: (id) => /^[\w-]{1,64}$/.test(id), prefix: 'toolu_' };

/** An id for a call without one from its provider. Clients find kept thoughts by it, so no other call has it. */
export function newCallId(): string {
  return `call_${newId().replaceAll('-', '')}`;
}

/** A fitting id, derived from another one, so it is the same for each request of a conversation. */
export function fittingId(id: string, { fits, prefix, digits = 24 }: IdRule, again = 0): string {
  if (again === 0 && fits(id)) return id;
  const hash = createHash('sha256').update(`${again}:${id}`).digest('hex');
  return prefix + hash.slice(0, digits);
}

/**
 * Gives the calls of a conversation, and their results, fitting ids without duplicates: some models number calls from
 * zero in each answer. A result belongs to the last call with its id.
 */
export function* withFittingIds(turns: readonly Turn[], rule: IdRule): Steps<Turn[]> {
  const seen = new Map<string, number>();
  const used = new Set<string>();
  const current = new Map<string, string>();
  const idOf = (call: CallPart): string => {
    let again = seen.get(call.id) ?? 0;
    let id = fittingId(call.id, rule, again);
    while (used.has(id)) id = fittingId(call.id, rule, (again += 1));
    seen.set(call.id, again + 1);
    used.add(id);
    current.set(call.id, id);
    return id;
  };
  const idOfResult = ({ callId }: ResultPart): string => current.get(callId) ?? fittingId(callId, rule);
  const written: Turn[] = [];
  for (const { role, parts: turnParts } of turns) {
    const parts: Part[] = [];
    for (const part of turnParts) {
      if (part.kind === 'call') parts.push({ ...part, id: idOf(part) });
      else parts.push(part.kind === 'result' ? { ...part, callId: idOfResult(part) } : part);
      yield;
    }
    written.push({ role, parts });
  }
  return written;
}

/** A call of a function outside groups. */
export function functionCall(id: unknown, name: unknown, argumentsText = ''): CallPart {
  const called = { id: textOf(id), name: textOf(name) };
  return { kind: 'call', ...called, argumentsText, isFreeform: false, namespace: null };
}
