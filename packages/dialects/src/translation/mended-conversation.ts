import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { takesPoint } from './cache-points.ts';
import type { Conversation, Part, ResultPart, Turn } from './conversation.ts';
import type { DroppedFields } from './dropped-fields.ts';
import { mendedSchemas, type OutputRules } from './schema/mended-schemas.ts';
import { reminder } from './framed-turns.ts';
import { withHistory } from './hosted-history.ts';
import { firstMessage } from './ordered-turns.ts';
import { pairedCalls } from './paired-calls.ts';

/** Forms of a request that one API takes and another one refuses. */
export interface TargetRules {
  output: OutputRules;
  /** Texts refused as empty: without a character, or of white space alone. */
  emptyTexts: 'no-character' | 'white-space';
  /** System texts: in any place, or at the beginning alone. */
  system: 'anywhere' | 'first';
  /** Whether turns of the model may have images and files. */
  modelMedia: boolean;
  /** The most sequences that stop an answer, and whether it may be one of white space. */
  stops: { most: number; takesBlank: boolean };
}

/** The conversation in the forms of its target. A form without a meaning of its own is changed, not refused. */
export function* mendedConversation(
  conversation: Conversation,
  rules: TargetRules,
  dropped: DroppedFields,
): Steps<Conversation> {
  const exact = yield* mendedSchemas(conversation, rules.output, dropped);
  const isEmpty = rules.emptyTexts === 'white-space' ? isWhiteSpace : hasNoCharacter;
  const turns: Turn[] = [];
  const marked = withHistory(exact.turns);
  for (const turn of rules.modelMedia ? marked : marked.flatMap(withMediaBehind)) {
    const filled = withoutEmptyTexts(turn, isEmpty);
    if (filled.parts.length > 0) turns.push(filled);
    yield;
  }
  const paired = withMessage(yield* pairedCalls(turns));
  return {
    ...exact,
    turns: rules.system === 'first' ? withReminders(paired) : paired,
    stop: takenStops(conversation.stop, rules.stops, dropped),
  };
}

/** A turn of the model, and the images and files in it as of the user. */
function withMediaBehind(turn: Turn): Turn[] {
  const media = turn.parts.filter((part) => 'at' in part);
  if (turn.role !== 'assistant' || media.length === 0) return [turn];
  const words = { ...turn, parts: turn.parts.filter((part) => !('at' in part)) };
  return [words, { role: 'user', parts: [{ kind: 'text', text: 'From the answer before:' }, ...media] }];
}

/** Turns with a message: thoughts alone are none, and system texts are if nothing else is there. */
function withMessage(turns: Turn[]): Turn[] {
  const isMessage = ({ role, parts }: Turn): boolean =>
    role !== 'system' && parts.some(({ kind }) => kind !== 'thinking');
  if (turns.some(isMessage)) return turns;
  const system = turns.filter(({ role }) => role === 'system');
  return system.length > 0 ? system : [{ role: 'user', parts: [{ kind: 'text', text: '(no text)' }] }];
}

/** System texts behind the first message are the user's. */
function withReminders(turns: readonly Turn[]): Turn[] {
  const first = firstMessage(turns);
  return turns.map((turn, index) => (turn.role === 'system' && index > first ? reminder(turn) : turn));
}

/** The first sequences that the target takes. Throws `unsupported_parameter` for a target without any. */
function takenStops(
  stop: readonly string[],
  { most, takesBlank }: TargetRules['stops'],
  dropped: DroppedFields,
): readonly string[] {
  const meant = stop.filter((text) => (takesBlank ? text !== '' : /\S/u.test(text)));
  if (meant.length > 0 && most === 0)
    throw dropped.unsupportedField('stop', 'No sequences stop the answers of this model.');
  const taken = meant.slice(0, most);
  if (taken.length < stop.length) dropped.ignoreField('stop');
  return taken;
}

const hasNoCharacter = (text: string): boolean => text === '';
const isWhiteSpace = (text: string): boolean => !/\S/u.test(text);

/** A turn without its empty texts. */
function withoutEmptyTexts(turn: Turn, isEmpty: (text: string) => boolean): Turn {
  const parts = turn.parts.map((part) => (part.kind === 'result' ? filledResult(part, isEmpty) : part));
  return { ...turn, parts: filledParts(parts, isEmpty) };
}

function filledResult(result: ResultPart, isEmpty: (text: string) => boolean): ResultPart {
  return { ...result, parts: filledParts(result.parts, isEmpty) };
}

/** The place up to which a prompt is cached moves from an empty text to the part before it. */
function filledParts<Kind extends Part>(parts: readonly Kind[], isEmpty: (text: string) => boolean): Kind[] {
  const filled: Kind[] = [];
  for (const part of parts) {
    if (!('text' in part) || part.kind === 'thinking' || !isEmpty(part.text)) {
      filled.push(part);
      continue;
    }
    const before = filled.at(-1);
    if ('cacheTtl' in part && before !== undefined && takesPoint(before))
      filled[filled.length - 1] = { ...before, cacheTtl: part.cacheTtl };
  }
  return filled;
}
