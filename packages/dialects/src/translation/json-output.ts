import type { Conversation, Part, Turn } from './conversation.ts';
import { CutTexts } from '../wire/cut-texts.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';

/** Keeps text and code fences out of an answer in JSON. */
const alone = 'and nothing else: no text around it, and no code fence.';

/** The conversation with its output format as an instruction behind its first system texts, not as a format. */
export function askedInWords(conversation: Conversation): Conversation {
  const { turns, output } = conversation;
  if (output === null) return conversation;
  const text =
    output.kind === 'json'
      ? `Unless you call a tool, answer with one JSON object ${alone}`
      : `Unless you call a tool, answer with one JSON value that matches this JSON Schema, ${alone}\n${output.schemaJson}`;
  const firstTurn = turns.findIndex(({ role }) => role !== 'system');
  const system: Turn = { role: 'system', parts: [{ kind: 'text', text }] };
  return { ...conversation, turns: turns.toSpliced(Math.max(0, firstTurn), 0, system), output: null };
}

/**
 * The turns for OpenAI's APIs, which have a mode for any JSON object and refuse it for a conversation without the word
 * JSON.
 */
export function* namingJson(conversation: Conversation): Steps<readonly Turn[]> {
  const { turns, output } = conversation;
  if (output?.kind !== 'json') return turns;
  for (const { parts } of turns) {
    if (parts.some(namesJson)) return turns;
    yield;
  }
  return askedInWords(conversation).turns;
}

function namesJson(part: Part): boolean {
  return part.kind === 'text' && /json/i.test(CutTexts.uncut(part.text));
}

/** Asks a model for the summary in place of a conversation. */
const request = [
  'Summarise this conversation for the model that continues it.',
  'Besides what the user wrote, it will see your summary and nothing else, so include:',
  '- what the user wants, with every constraint and preference',
  '- what was done and what came of it, with the exact names, paths, commands, values and errors that matter',
  '- decisions, and the reasons for them',
  '- what is open, and the next step',
  'Write in the language of the conversation. Answer with the summary alone.',
].join('\n');

/** The conversation with a request for its summary. No tools are called; providers want those of earlier calls defined. */
export function summarising(conversation: Conversation): Conversation {
  return {
    ...conversation,
    turns: [...conversation.turns, { role: 'user', parts: [{ kind: 'text', text: request }] }],
    choice: conversation.tools.length > 0 ? 'none' : null,
    parallel: null,
    output: null,
  };
}
