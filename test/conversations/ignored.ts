import type { DialectName } from '@gatehouse/contract/dialects';
import type { Place } from './plan.ts';
import { refusesForcedCalls, wantsThoughts, type Turn } from './turns.ts';

/**
 * Hints of a turn that a model of another API has no place for, by the client's dialect. The header
 * `x-gateway-ignored` names them, and nothing else.
 */

/** Fields by which a client has a model think. */
const thinking: Record<DialectName, string> = {
  chat: 'reasoning_effort',
  responses: 'reasoning',
  messages: 'thinking',
  gemini: 'generationConfig.thinkingConfig',
};

/** Fields by which a client forces a call. */
const choice: Record<DialectName, string> = {
  chat: 'tool_choice',
  responses: 'tool_choice',
  messages: 'tool_choice',
  gemini: 'toolConfig',
};

/** Fields of the document that an answer is. */
const format: Record<DialectName, string> = {
  chat: 'response_format',
  responses: 'text.format',
  messages: 'output_config.format',
  gemini: '',
};

/** Reasoning of another vendor in the history of a request for a model of the client's own API. */
const foreignReasoning: Record<DialectName, string> = {
  chat: '',
  responses: 'input.reasoning',
  messages: 'messages.content.thinking',
  gemini: 'contents.parts.thoughtSignature',
};

interface Row {
  names: Record<DialectName, string> | Partial<Record<DialectName, string>>;
  holds: (turn: Turn, place: Place, dialect: DialectName) => boolean;
}

const rows: readonly Row[] = [
  // Other APIs have summaries of their own kind.
  { names: { responses: 'reasoning.summary' }, holds: wantsThoughts },
  // The model does not think.
  { names: thinking, holds: (turn, { model }) => wantsThoughts(turn) && model === 'gpt-4.1' },
  // The model thinks by itself, but not beside tools, which Google's client leaves out where it has a format.
  {
    names: thinking,
    holds: ({ feature }, { thinks }, dialect) =>
      thinks === 'never' && !(dialect === 'gemini' && feature === 'structured'),
  },
  // The budget of a high effort has no room in the limit of tokens; Google's client has one that fits.
  {
    names: { ...thinking, gemini: '' },
    holds: (turn, { model }) => wantsThoughts(turn) && /sonnet-4-5/.test(model),
  },
  // Claude does not think where a call is forced, or chooses itself.
  {
    names: thinking,
    holds: ({ isForced }, { model }) => isForced === true && /(?:sonnet-4-5|opus-4-7|arn)/.test(model),
  },
  // Gemini before 3 takes no format beside tools: it becomes an instruction.
  { names: format, holds: ({ feature }, { model }) => feature === 'structured' && /gemini-2/.test(model) },
  { names: choice, holds: ({ isForced }, { model }) => isForced === true && refusesForcedCalls.test(model) },
];

/** The names of the header for a turn, sorted. */
export function ignoredNames(turn: Turn, place: Place, dialect: DialectName): string[] {
  if (place.api === dialect) return [];
  const names = rows.flatMap((row) => (row.holds(turn, place, dialect) ? (row.names[dialect] ?? '') : ''));
  return Array.from(new Set(names.filter((name) => name !== ''))).toSorted();
}

/** The names in a header, sorted, but for reasoning that the history decides. */
export function namesIn(header: string, place: Place, dialect: DialectName): string[] {
  const names = header.split(', ').filter((name) => name !== '');
  const isKnown = (name: string): boolean => place.api !== dialect || name !== foreignReasoning[dialect];
  return names.filter(isKnown).toSorted();
}
