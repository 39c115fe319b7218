import type { Peer } from '@gatehouse/grpc/client';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { RequestContext } from '@gatehouse/http/request-context';
import type { Delegation } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { z } from 'zod';
import type { Result } from '../calls/call-texts.ts';

export interface Question {
  /** The id of the call: a repeat gets the stored answer. */
  callId: string;
  /** The way that it came in, such as `webhook`. */
  channel: string;
  /** Whether several people read the answer: memory of the agent counts, memory of the user does not. */
  group?: boolean;
  sessionId: string | null;
  /** An OpenAI chat completion request without a model. */
  requestJson: string;
}

const completion = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullish() }),
      }),
    )
    .min(1),
  usage: z.record(z.string(), z.unknown()).nullish(),
});

/** The provider's answer has no text to take as the result. It is stored, so a repeat gets the same. */
export class UnreadableAnswer extends AppError {
  constructor(cause: unknown) {
    super('provider_invalid_response', "The provider's answer has no choice with a text.", { cause });
  }
}

function readCompletion(json: string): z.output<typeof completion> {
  try {
    return completion.parse(JSON.parse(json));
  } catch (error) {
    throw new UnreadableAnswer(error);
  }
}

/** An agent's answer. */
export interface Answer {
  runId: string;
  result: Result;
}

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
