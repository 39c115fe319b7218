import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type { Call } from '@gatehouse/http/app';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';

/** Shorter than the 60 s for which an `Idempotency-Key` stays claimed. */
const deadlineMs = 50_000;

export type CompletionCaller = Pick<Call, 'assertion' | 'requestId' | 'trace'>;

export interface MemoryCompletion {
  runId: string;
  /** The OpenAI chat completion, as JSON. */
  json: string;
}

/** Calls the models of agents through chat, which meters them. */
export class CompletionClient {
  readonly #peer: RpcClient<ChatServiceClient>;

  constructor(peer: RpcClient<ChatServiceClient>) {
    this.#peer = peer;
  }

  /** One completion. A repeat with the same `callId` returns the stored one instead of calling the model again. */
  async complete(
    { assertion, requestId, trace }: CompletionCaller,
    request: { agent: string; callId: string; requestJson: string },
  ): Promise<MemoryCompletion> {
    const { runId, completionJson } = await this.#peer
      .call('complete', request, { deadlineMs, assertion, requestId, trace })
      .catch(hangIsOutage);
    return { runId, json: completionJson };
  }
}
