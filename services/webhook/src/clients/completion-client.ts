import type { RpcClient } from '@gatehouse/grpc/client';
import { isUnanswered } from '@gatehouse/grpc/errors';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { RequestContext } from '@gatehouse/http/request-context';
import type { Delegation } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { readCompletion, textOf, type AgentResponse, type Question } from './completion.ts';
import { minuteMs } from '@gatehouse/kit/bounds';
import { jobPollMs, leastCallMs, longestRunMs } from '../bounds.ts';

/** The longest attempt of a job: chat reports its limit before. */
const longestAttemptMs = longestRunMs + 30_000;

/** Asks agents through chat. */
export class CompletionClient {
  readonly #peer: RpcClient<ChatServiceClient>;
  readonly #signer: Signer;
  readonly #callInJobMs: number;

  constructor(
    peer: RpcClient<ChatServiceClient>,
    { signer, inJobMs = minuteMs }: { signer: Signer; inJobMs?: number | undefined },
  ) {
    this.#peer = peer;
    this.#signer = signer;
    this.#callInJobMs = inJobMs;
  }

  /**
   * Asks until there is an answer: an earlier call with the id may still be under way, or its replica be gone.
   * `deadlineMs` is called before each call, and may throw.
   */
  async askPatiently(
    delegation: Delegation,
    question: Question,
    {
      deadlineMs,
      pollMs,
      ...context
    }: Partial<RequestContext> & { deadlineMs: () => number; pollMs: number },
  ): Promise<AgentResponse> {
    for (;;) {
      const attempt = { ...context, deadlineMs: deadlineMs() };
      try {
        return await this.#ask(delegation, question, attempt);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        // It took all of its time. A repeat gets the answer, or takes over from a dead replica.
        if (isUnanswered(error)) continue;
        if (error.code !== 'idempotency_in_progress') throw error;
        await sleep(pollMs);
      }
    }
  }

  /**
   * Asks from a job, as long as a run may take. An interrupted call, or one without an answer after a minute, is
   * repeated by the same call id: chat's stored answer counts if there is one.
   */
  askInJob(delegation: Delegation, question: Question, signal: AbortSignal): Promise<AgentResponse> {
    const until = monotonicMs() + longestAttemptMs;
    const deadlineMs = (): number => {
      signal.throwIfAborted();
      const leftMs = until - monotonicMs();
      if (leftMs < leastCallMs) throw new AppError('service_timeout', 'The agent did not answer in time.');
      return Math.min(this.#callInJobMs, leftMs);
    };
    return this.askPatiently(delegation, question, { deadlineMs, pollMs: jobPollMs });
  }

  /** The agent's answer. Throws what chat throws; the run goes on when the deadline is over. */
  async #ask(
    delegation: Delegation,
    { callId, channel, group, sessionId, requestJson }: Question,
    { deadlineMs, requestId, trace }: Partial<RequestContext> & { deadlineMs: number },
  ): Promise<AgentResponse> {
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
        output: choice === undefined ? null : textOf(choice.message),
        finish_reason: choice?.finish_reason ?? null,
        usage: usage ?? null,
        trace_id: traceId,
      },
    };
  }
}
