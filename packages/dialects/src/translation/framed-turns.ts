import type { Turn } from './conversation.ts';
import type { DroppedFields } from './dropped-fields.ts';
import { orderedTurns } from './ordered-turns.ts';

/** The places of turns that a model takes. */
export interface Frame {
  /** Whether the user's turn must be the first one. */
  beginsWithUser: boolean;
  /** Whether the conversation may end with the beginning of the answer. */
  takesPrefill: boolean;
  /** Whether system texts may stand behind a turn of the user, before one of the model or at the end. */
  takesSystem: boolean;
}

/** Messages of `splitSystem` in the places that a model takes: turns of the user stand where one is missing. */
export function framed(messages: readonly Turn[], frame: Frame, dropped: DroppedFields): readonly Turn[] {
  const placed = frame.takesSystem ? withPlacedSystem(messages) : messages;
  const isLate = frame.beginsWithUser && placed[0]?.role === 'assistant';
  const begun = isLate ? [userTurn(beginning), ...placed] : placed;
  const last = begun.at(-1);
  if (last?.role !== 'assistant') return begun;
  if (frame.takesPrefill) return [...begun.slice(0, -1), trimmedEnd(last)];
  dropped.ignoreField('turns');
  return [...begun, userTurn(goOn)];
}

/** The text before a conversation that the model begins. */
export const beginning = '(The conversation begins here.)';

/** The text behind an answer that the model can't go on from. */
export const goOn = 'Continue.';

function userTurn(text: string): Turn {
  return { role: 'user', parts: [{ kind: 'text', text }] };
}

/**
 * System texts in other places become the user's.
 * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
 */
function withPlacedSystem(messages: readonly Turn[]): readonly Turn[] {
  const isPlaced = (index: number): boolean =>
    messages[index - 1]?.role === 'user' && messages[index + 1]?.role !== 'user';
  const isMisplaced = ({ role }: Turn, index: number): boolean => role === 'system' && !isPlaced(index);
  if (!messages.some(isMisplaced)) return messages;
  return orderedTurns(messages.map((turn, index) => (isMisplaced(turn, index) ? reminder(turn) : turn)));
}

/** A system text as one of the user, in the mark of Claude Code. */
export function reminder({ parts }: Turn): Turn {
  return {
    role: 'user',
    parts: parts.map((part) =>
      part.kind === 'text' ? { ...part, text: `<system-reminder>\n${part.text}\n</system-reminder>` } : part,
    ),
  };
}

/** White space at the end of the beginning of an answer is refused. */
function trimmedEnd({ role, parts }: Turn): Turn {
  const last = parts.at(-1);
  if (last?.kind !== 'text' && last?.kind !== 'refusal') return { role, parts };
  return { role, parts: [...parts.slice(0, -1), { ...last, text: last.text.trimEnd() }] };
}
