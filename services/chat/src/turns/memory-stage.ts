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
      const search = {
        ...{ request: facts, actor: member, target, sessionId, arrivedAt, passed },
        restored: (question: string) => restoredText(turn, question),
      };
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
    ended(turn, outcome) {
      if ('text' in outcome)
        turn.remember?.({ runId: turn.run.identity.id, text: restoredText(turn, outcome.text) });
    },
  };
}

/**
 * Sends question and answer to memory, once each, if the agent's memory is written to. Null for turns not to be
 * remembered: without an acting user, without text, or with several answers, no one of them the turn's.
 */
function remembering(
  queue: MemoryDependencies['remember'],
  turn: TurnContext,
  request: AcceptedRequest,
): TurnContext['remember'] {
  const { member, target, sessionId, arrivedAt } = turn;
  const { memory, agentId } = target;
  if (memory?.write !== true || agentId === null) return null;
  if (member === null || member.userId === null) return null;
  if (request.choicesWith(target.defaults) > 1) return null;
  const question = request.lastUserText();
  if (question === null) return null;
  const { tenantId, userId } = member;
  const remembered = {
    ...{ tenantId, agentId, userId, sessionId: sessionId ?? '', analyser: memory.analyser },
    input: cutText(restoredText(turn, question.text), maxMemoryChars),
    startedAtMs: BigInt(Math.floor(nowMs() - (monotonicMs() - arrivedAt))),
  };
  return ({ runId, text: output }) => {
    // A turn with tool calls at its end goes on in another one.
    if (output.trim() !== '') queue.add({ ...remembered, runId, output });
  };
}

/** A text of a conversation as its user has it: memory has values in place of their placeholders. */
function restoredText({ guardrails }: TurnContext, text: string): string {
  const substitution = guardrails?.substitution ?? null;
  if (substitution === null) return text;
  return cutText(substitution.restored(cutText(text, maxMemoryChars)), maxMemoryChars);
}
