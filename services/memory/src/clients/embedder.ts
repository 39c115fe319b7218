import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type { Call } from '@gatehouse/http/app';
import type { Delegation } from '@gatehouse/identity/principal';
import type { Assertion } from '@gatehouse/identity/local-assertion';
import type { Signer } from '@gatehouse/identity/signer';
import { AppError } from '@gatehouse/kit/errors';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { QueryVector } from '../search/search.ts';
import type { Embedded } from '../search/vectors.ts';

/** The caller of a request with a query to embed. */
export interface QueryCaller extends Pick<Call, 'requestId' | 'trace'> {
  assertion: Assertion | null;
  /** The delegation by chat in place of an assertion, which memory has to delegate itself. */
  delegation?: Delegation | null;
}

export interface Query {
  agentId: string;
  text: string;
  /** Rejects after this time; the call goes on, because the provider has been asked. Default: 10 s. */
  withinMs?: number;
}

const queryDeadlineMs = 10_000;
const passagesDeadlineMs = 60_000;

/** Embeddings of texts by the model of the catalogue. All methods reject with `embeddings_not_configured` without one. */
export class Embedder {
  readonly #peer: RpcClient<ChatServiceClient>;
  readonly #signer: Signer;

  constructor(peer: RpcClient<ChatServiceClient>, signer: Signer) {
    this.#peer = peer;
    this.#signer = signer;
  }

  /** Embeds a query for the caller of a request. */
  async query(caller: QueryCaller, query: Query): Promise<QueryVector> {
    const { agentId, text, withinMs = queryDeadlineMs } = query;
    const { requestId, trace, delegation = null } = caller;
    const assertion =
      delegation === null ? (caller.assertion ?? undefined) : await this.#signer.delegation(delegation);
    const context = { deadlineMs: queryDeadlineMs, assertion, requestId, trace };
    const { model, vectors } = await within(withinMs, this.#embed(agentId, [text], context));
    return { model, vector: vectors[0] ?? [] };
  }

  /** Embeds passages of an agent's memory in the background. */
  async passages(owner: { tenantId: string; agentId: string }, texts: string[]): Promise<Embedded> {
    const assertion = await this.#signer.delegation({ ...owner, userId: null });
    return this.#embed(owner.agentId, texts, { deadlineMs: passagesDeadlineMs, assertion });
  }

  async #embed(agentId: string, texts: string[], context: CallContext): Promise<Embedded> {
    // Most models read a decomposed letter as two.
    const composed = texts.map((text) => text.normalize('NFC'));
    const { model, embeddings } = await this.#peer
      .call('embed', { agentId, texts: composed }, context)
      .catch(hangIsOutage);
    if (embeddings.length !== texts.length)
      throw new Error(`chat returned ${embeddings.length} embeddings for ${texts.length} texts`);
    return { model, vectors: embeddings.map(({ values }) => values) };
  }
}

async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new AppError('service_timeout', 'The query was not embedded in time.')),
    ms,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
