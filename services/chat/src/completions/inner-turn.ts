import type { BodyBudget, TenantShare } from '@gatehouse/kit/body-budget';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { PromptParts } from '@gatehouse/dialects/prompt-parts';
import { dialects } from '@gatehouse/dialects/dialects';
import type { AnswerBudget, AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { ObjectAnswer } from '../providers/object-answer.ts';
import { arrive, startTurn, type TurnDependencies } from '../turns/start-turn.ts';
import { turnContext, type TurnContext, type TurnInput } from '../turns/turn-stage.ts';
import type { StoreAnswer } from '../runs/run.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { noteRefusal, type RefusalDependencies } from './refusals.ts';

export interface InnerTurnDependencies extends TurnDependencies {
  refusals: RefusalDependencies['refusals'];
  catalogue: Catalogue;
  answers: AnswerBudget;
  bodyBudget: BodyBudget;
}

type Members = 'source' | 'target' | 'actor' | 'settings' | 'channel' | 'signal';

/**
 * A turn for another service. Without a `member` its agent uses neither memory nor tools; in a group, the member has no
 * user. Previews are off in the settings of a run with its texts stored, and forgotten, elsewhere.
 */
export interface InnerTurn
  extends
    Pick<TurnContext, Members>,
    Partial<Pick<TurnContext, 'member' | 'sessionId' | 'act' | 'guardrails'>> {
  facts: AcceptedRequest;
  parts: PromptParts | null;
  /** The body of the request. */
  sent: Buffer;
  reread: TurnInput['reread'];
  share: TenantShare;
  /** Stores the answer with the end of its run. */
  store?: StoreAnswer;
}

/**
 * Does work on another service's request. Its bytes count like those of a client until the work is over or has released
 * them. Waits as a body does, and throws like it.
 */
export async function charged<Result>(
  budget: BodyBudget,
  { tenantId, bytes }: { tenantId: string; bytes: number },
  work: (share: TenantShare) => Promise<Result>,
): Promise<Result> {
  const share = budget.open(tenantId, null);
  try {
    await share.enter(bytes);
    share.grow(bytes);
    return await work(share);
  } finally {
    share.release();
  }
}

/**
 * One turn for another service: the same stages, limits, provider calls and record as for a client, without a key. Among
 * the refused requests are those refused by guardrails alone.
 */
export async function answerInside(
  dependencies: InnerTurnDependencies,
  { facts, parts, sent, share, reread, store, ...turn }: InnerTurn,
): Promise<ObjectAnswer> {
  const { settings } = turn;
  const ending = new AbortController();
  const signal = AbortSignal.any([turn.signal, ending.signal]);
  const actor = { ...turn.actor, apiKeyId: null };
  const { tenantId } = actor;
  const arrivedAt = monotonicMs();
  const started = await arrive(dependencies, { tenantId, apiKeyId: null, settings }, (admission) => {
    const entrance = { ...turn, actor, ending, signal, dialect: dialects.chat, arrivedAt, admission };
    const input = { facts, parts, text: null, sent, share, reread };
    return startTurn(dependencies, turnContext(entrance, facts), input);
  }).catch((error: unknown) => {
    noteBlocked(dependencies, { ...turn, facts }, error);
    throw error;
  });
  let room: AnswerRoom | null = null;
  let answer = null as ObjectAnswer | null;
  const streamed = (): never => {
    throw new Error('the answer to a service was streamed');
  };
  await started.complete({
    ...{ signal, begun: false, stored: store },
    openRoom: () => {
      room?.close();
      room = dependencies.answers.open(tenantId);
      return room;
    },
    ...{ streamAccepted: () => undefined, openStream: streamed, endStream: streamed },
    sendObject: (sent) => {
      answer = sent;
    },
    fail: (error, { hasRun }) => {
      if (!hasRun) noteBlocked(dependencies, { ...turn, facts }, error);
      throw error;
    },
    close: () => room?.close(),
  });
  if (answer === null) throw new Error('the turn has no answer');
  return answer;
}

/** Counts a turn that its guardrails have refused before any call of a model. */
function noteBlocked(
  dependencies: RefusalDependencies,
  turn: Pick<InnerTurn, 'facts' | 'settings' | 'target' | 'actor' | 'channel' | 'sessionId' | 'guardrails'>,
  error: unknown,
): void {
  const { facts, settings, target, actor, channel, sessionId = null, guardrails = null } = turn;
  if (guardrails === null || error !== guardrails.refusal) return;
  const origin = {
    ...{ tenant_id: actor.tenantId, user_id: actor.userId, api_key_id: null, session_id: sessionId },
    ...{ request_id: actor.requestId, trace_id: actor.trace.traceId, channel, dialect: null, client: null },
  };
  const { operation, model } = facts;
  noteRefusal(
    dependencies,
    { origin, facts: { operation, model, settings, target, guardrails, turn: null } },
    error,
  );
}

/** The channel of runs requested by memory. */
export const memoryChannel = 'memory';
