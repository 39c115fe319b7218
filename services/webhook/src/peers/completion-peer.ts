import type { Peer } from '@gatehouse/grpc/client';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { RequestContext } from '@gatehouse/http/request-context';
import type { Delegation } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { longestRunMs, readCompletion, type Answer, type Question } from './completion.ts';

/** The most that one attempt of a job may take: chat reports its limit before. */
const longestAttemptMs = longestRunMs + 30_000;
const jobPollMs = 1_000;

/** Asks agents through chat. */
export class CompletionClient {
  readonly #peer: Peer<ChatServiceClient>;
  readonly #signer: Signer;

  constructor(peer: Peer<ChatServiceClient>, signer: Signer) {
    this.#peer = peer;
    this.#signer = signer;
  }

  /**
   * Asks until there is an answer: an earlier attempt for the call may still be under way. `deadlineMs` is called before
   * each attempt, and may throw.
   */
  async askPatiently(
    delegation: Delegation,
    question: Question,
    {
      deadlineMs,
      pollMs,
      ...context
    }: Partial<RequestContext> & { deadlineMs: () => number; pollMs: number },
  ): Promise<Answer> {
    for (;;) {
      const attempt = { ...context, deadlineMs: deadlineMs() };
      try {
        return await this.#ask(delegation, question, attempt);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'idempotency_in_progress') throw error;
        await sleep(pollMs);
      }
    }
  }

  /**
   * Asks from a job, however long it takes. An attempt that was interrupted is repeated by the same call id, so that
   * chat's stored answer counts if there is one.
   */
  askInJob(delegation: Delegation, question: Question, signal: AbortSignal): Promise<Answer> {
    const deadlineMs = (): number => {
      signal.throwIfAborted();
      return longestAttemptMs;
    };
    return this.askPatiently(delegation, question, { deadlineMs, pollMs: jobPollMs });
  }

  /** The agent's answer. Throws what chat throws; the run goes on when the deadline is over. */
  async #ask(
    delegation: Delegation,
    { callId, channel, group, sessionId, requestJson }: Question,
    { deadlineMs, requestId, trace }: Partial<RequestContext> & { deadlineMs: number },
  ): Promise<Answer> {
    const { runId, traceId, completionJson } = await this.#peer.call(
      'complete',
      {
        agent: delegation.agentId,
        callId,
        requestJson,
        channel,
        ...(group === true && { group }),
        ...(sessionId !== null && { sessionId }),
      },
      { deadlineMs, requestId, trace, assertion: await this.#signer.delegation(delegation) },
    );
    const { choices, usage } = readCompletion(completionJson);
    const [choice] = choices;
    return {
      runId,
      result: {
        output: choice?.message.content ?? null,
        finish_reason: choice?.finish_reason ?? null,
        usage: usage ?? null,
        trace_id: traceId,
      },
    };
  }
}
