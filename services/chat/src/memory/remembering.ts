import { cutText } from '@gatehouse/events/cut-text';
import { monotonicMs, nowMs } from '@gatehouse/kit/clock';
import { maxMemoryChars } from '@gatehouse/dialects/usage/memory-text';
import type { RecallTurn } from './recall.ts';
import type { RememberQueue } from './remember-queue.ts';

/** Takes the text of an answer, for what follows a turn. Must not throw. */
export type OnAnswer = (ended: { runId: string; text: string }) => void;

/**
 * Sends the finished turn to memory if the agent's memory is written to: question and answer, once each. Null for turns
 * that are not remembered: without an acting user, without text, or with several answers, of which none is the turn's.
 */
export function remembering(queue: RememberQueue, turn: RecallTurn): OnAnswer | null {
  const { request, actor, target, sessionId, arrivedAt } = turn;
  const { tenantId, userId } = actor;
  const { memory, agentId } = target;
  if (memory?.write !== true || agentId === null || userId === null) return null;
  if (request.choicesWith(target.defaults) > 1) return null;
  const asked = request.lastUserText();
  if (asked === null) return null;
  const input = cutText(asked.text, maxMemoryChars);
  const startedAtMs = BigInt(Math.floor(nowMs() - (monotonicMs() - arrivedAt)));
  const { analyser } = memory;
  return ({ runId, text: output }) => {
    // A turn that ends with tool calls goes on in another one.
    if (output.trim() === '') return;
    queue.add({
      tenantId,
      agentId,
      analyser,
      userId,
      sessionId: sessionId ?? '',
      runId,
      input,
      output,
      startedAtMs,
    });
  };
}
