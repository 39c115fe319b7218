import { maxMemoryChars } from '@gatehouse/dialects/bounds';
import { cutText } from '@gatehouse/events/cut-text';
import { monotonicMs, nowMs } from '@gatehouse/kit/clock';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { RecallStep } from '../memory/recall.ts';
import type { RememberQueue } from '../memory/remember-queue.ts';
import { passagesPassed } from './guardrail-stage.ts';
import type { TurnContext, TurnStage } from './turn-stage.ts';

export interface MemoryDependencies {
  recall: RecallStep;
  remember: Pick<RememberQueue, 'add'>;
}

/** Adds passages of an agent's memory to a request, and sends the finished turn to memory. Never throws. */
export function memoryStage({ recall, remember }: MemoryDependencies): TurnStage {
  return {
    prepare(turn, { facts }) {
      const { target, member, sessionId, arrivedAt } = turn;
      if (target.memory === null || member === null) return;
      const passed = passagesPassed(turn);
      const search = { request: facts, actor: member, target, sessionId, arrivedAt, passed };
      return recall.run(search).then((result) => {
        ({ target: turn.target, recall: turn.recall } = result);
        if (turn.settings.storesContent) turn.passages = result.passages;
      });
    },
    // After the guardrails, which may change the question.
    request(turn, { facts }) {
      if (turn.target.memory !== null) turn.remember = remembering(remember, turn, facts);
      return undefined;
    },
    ended({ run, remember: add }, outcome) {
      if ('text' in outcome) add?.({ runId: run.identity.id, text: outcome.text });
    },
  };
}

/**
 * Sends question and answer to memory, once each, if the agent's memory is written to. Null for turns not to be
 * remembered: without an acting user, without text, or with several answers, no one of them the turn's.
 */
function remembering(
  queue: MemoryDependencies['remember'],
  { member, target, sessionId, arrivedAt }: TurnContext,
  request: AcceptedRequest,
): TurnContext['remember'] {
  const { memory, agentId } = target;
  if (memory?.write !== true || agentId === null) return null;
  if (member === null || member.userId === null) return null;
  if (request.choicesWith(target.defaults) > 1) return null;
  const question = request.lastUserText();
  if (question === null) return null;
  const { tenantId, userId } = member;
  const turn = {
    ...{ tenantId, agentId, userId, sessionId: sessionId ?? '', analyser: memory.analyser },
    input: cutText(question.text, maxMemoryChars),
    startedAtMs: BigInt(Math.floor(nowMs() - (monotonicMs() - arrivedAt))),
  };
  return ({ runId, text: output }) => {
    // A turn with tool calls at its end goes on in another one.
    if (output.trim() !== '') queue.add({ ...turn, runId, output });
  };
}
