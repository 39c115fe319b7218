import { isMarked, withPoint, type PointPlaces } from './cache-points.ts';
import type { Conversation, Tool, Turn } from './conversation.ts';
import { firstMessage } from './ordered-turns.ts';

const point = { cacheTtl: '5m' } as const;

/**
 * Marks a prompt for a model that caches nothing else: its tools, its system text, and the messages that the next
 * request repeats. A request of one question gets no mark behind it, so it pays for no cache that it may not use. A
 * conversation with a mark of its client stays as it is.
 */
export function withAutomaticPoints(
  conversation: Conversation,
  { inTools }: Pick<PointPlaces, 'inTools'>,
): Conversation {
  const { tools, turns } = conversation;
  if (tools.some(isMarked) || turns.some(({ parts }) => parts.some(isMarked))) return conversation;
  const marked = markedTurns(turns);
  return {
    ...conversation,
    tools: inTools
      ? tools.map((tool, index): Tool => (index === tools.length - 1 ? { ...tool, ...point } : tool))
      : tools,
    turns: turns.map((turn, index) =>
      marked.has(index) ? { ...turn, parts: withPoint(turn.parts, point) } : turn,
    ),
  };
}

/** The last of the system texts at the beginning, the end of the prompt worth a cache, and that of the request before. */
function markedTurns(turns: readonly Turn[]): ReadonlySet<number> {
  const ends = [firstMessage(turns) - 1, endOf(turns), endOf(turns.slice(0, answerStart(turns)))];
  return new Set(ends.filter((end) => end >= 0));
}

/**
 * The turn at the end of the part that the next request repeats for sure: the results of calls, behind which the model
 * goes on at once, or else the last answer. -1 without an answer.
 */
function endOf(turns: readonly Turn[]): number {
  const answer = turns.findLastIndex(({ role }) => role === 'assistant');
  const isInCalls = turns.slice(answer + 1).some(({ parts }) => parts.some(({ kind }) => kind === 'result'));
  return isInCalls ? turns.findLastIndex(({ role }) => role === 'user') : answer;
}

/** The first turn of the last answer; 0 without an answer. */
function answerStart(turns: readonly Turn[]): number {
  const answer = turns.findLastIndex(({ role }) => role === 'assistant');
  return turns.findLastIndex(({ role }, index) => index < answer && role !== 'assistant') + 1;
}
