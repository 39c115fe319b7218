import { isBuiltIn, maxPatterns, type CheckView, type NewCheck } from './guardrail-checks.ts';

/** Rules between the members of a guardrail. */

export const guardrailActions = ['block', 'mask', 'substitute', 'flag'] as const;
export type GuardrailAction = (typeof guardrailActions)[number];

export const guardedTexts = ['system', 'user', 'tool_result', 'answer', 'tool_call'] as const;
export type GuardedText = (typeof guardedTexts)[number];

/** A check whatever form its `auth` has. */
type AnyCheck = CheckView | NewCheck;

/** Members with rules between them. */
export interface Behaviour {
  check: AnyCheck;
  action: GuardrailAction;
  on: readonly GuardedText[];
  on_error: 'open' | 'closed';
  /** Characters held while a check asks outside, or the whole answer; null for what matches itself need. */
  hold: number | 'answer' | null;
}

/** The most bytes of a guardrail as JSON: each call of chat for settings has up to 40 of them. */
export const maxGuardrailBytes = 65_536;
/** The most bytes of `except` together. */
export const maxExceptBytes = 16_384;

/** Texts on their way to a model: checks outside read no others, and no others have values to substitute. */
const inputs: readonly GuardedText[] = ['system', 'user', 'tool_result'];

/** Defaults by check and action. */
export function defaultBehaviour({
  check,
  action,
}: Pick<Behaviour, 'check' | 'action'>): Pick<Behaviour, 'on' | 'on_error' | 'hold'> {
  const asksModel = check.type === 'moderation' || check.type === 'model';
  const checked = isBuiltIn(check) && action !== 'substitute' ? guardedTexts : inputs;
  return {
    on: asksModel ? checked.filter((text) => text !== 'system') : checked,
    on_error: action === 'flag' ? 'open' : 'closed',
    hold: isBuiltIn(check) ? null : 'answer',
  };
}

/** A member without meaning beside the others. */
export interface Refusal {
  param: string;
  reason: string;
}

/** Why a guardrail is refused; null if it is not. */
export function refusalOf({ check, action, on, hold }: Behaviour): Refusal | null {
  const { type } = check;
  if ((type === 'moderation' || type === 'model') && (action === 'mask' || action === 'substitute'))
    return { param: 'action', reason: `${type} names no place in a text: it can only block or flag` };
  if (type === 'webhook' && action === 'substitute')
    return { param: 'action', reason: 'webhook names no type of a match: it can block, mask or flag' };
  if (type === 'presidio' && action === 'substitute')
    return { param: 'action', reason: 'presidio can block, mask or flag: it does not substitute yet' };
  if (action === 'substitute' && on.some((text) => !inputs.includes(text)))
    return {
      param: 'on',
      reason: 'substitute is for system, user and tool_result: answers get the values back',
    };
  if (!isBuiltIn(check) && on.some((text) => !inputs.includes(text)))
    return { param: 'on', reason: `${type} checks only system, user and tool_result yet` };
  if (isBuiltIn(check) && typeof hold === 'number')
    return { param: 'hold', reason: 'a number of characters is for checks that ask outside' };
  return type === 'patterns' ? refusalOfPatterns(check) : null;
}

function refusalOfPatterns({ patterns, words }: Extract<AnyCheck, { type: 'patterns' }>): Refusal | null {
  const texts = [...patterns.flatMap(({ name, regex }) => [name, regex]), ...words];
  const items = patterns.length + words.length;
  if (items === 0) return { param: 'check.patterns', reason: 'a pattern or a word is needed' };
  if (items > maxPatterns.items)
    return { param: 'check.patterns', reason: `with words at most ${maxPatterns.items}` };
  if (bytesOf(texts.join('')) > maxPatterns.bytes)
    return { param: 'check.patterns', reason: `with words at most ${maxPatterns.bytes} bytes` };
  const names = new Set(patterns.map(({ name }) => name.toUpperCase()));
  return names.size < patterns.length
    ? { param: 'check.patterns', reason: 'each needs a name of its own, in any case' }
    : null;
}

/** Bytes of a text in UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
