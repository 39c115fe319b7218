import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebhookQueued, WebhookResult } from '@gatehouse/contract/webhook-calls';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { readBody } from '@gatehouse/http/body';
import type { TenantShare } from '@gatehouse/kit/body-budget';
import { chargeTenant, openAnonymousShare } from '@gatehouse/http/body-share';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { idempotencyKeyOf } from '@gatehouse/http/idempotency-key';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { CallKey, NewCall, StoredCall } from './call.ts';
import type { CallTexts } from './call-texts.ts';
import type { Claims } from './claims.ts';
import type { Ground } from '../ground.ts';
import type { QueueRoom } from '../shared/queue-room.ts';
import type { SyncCalls } from './sync-calls-handlers.ts';
import { hopsHeader, type Hops } from '../deliveries/hops.ts';
import { endpointIdOf } from '../shared/named-ids.ts';
import { signedRequestOf } from '../signatures/schemes.ts';
import type { SealedEndpoint } from '../endpoints/endpoint.ts';
import type { EndpointGate } from '../endpoints/endpoint-gate.ts';
import type { HandshakeAnswer } from './handshake.ts';
import { refuseClosed, type EndpointWait } from './patience.ts';
import type { Genuine } from '../signatures/verify.ts';
import { readInput, requestOf } from './llm-input-handlers.ts';
import type { Templates } from '../templates/templates.ts';
import type { CallStore } from './call-store.ts';
import type { Ref } from '../shared/ref.ts';
import { dayS } from '../bounds.ts';

export interface LlmDependencies extends Pick<
  Ground,
  'tenants' | 'guard' | 'anonymousBudget' | 'bodyBudget'
> {
  gate: EndpointGate;
  calls: CallStore;
  claims: Claims;
  texts: CallTexts;
  hops: Hops;
  sync: SyncCalls;
  /** Runs the call in the background, once the transaction commits. */
  queue: (db: Queryable, call: Ref) => Promise<void>;
  room: QueueRoom;
  /** For endpoints about to move. */
  patience: EndpointWait;
  templates: Templates;
}

/** How long a repeat is known by its id, and by its body where no id is signed. */
const retentionS = { id: 4 * dayS, body: dayS, tokenBody: 600 };

type Answer = { status: 200; body: WebhookResult | HandshakeAnswer } | { status: 202; body: WebhookQueued };

/** `POST /v1/webhooks/llm` */
export function llmHandlers(dependencies: LlmDependencies): Record<string, RawHandler> {
  return {
    'webhooks.llm': async (request, response, call) => {
      const { replayed, status, body } = await deliver(dependencies, request, response, call);
      sendJson(response, status, body, {
        [requestIdHeader]: call.requestId,
        ...(replayed && { 'idempotency-replayed': 'true' }),
      });
    },
  };
}

/** A stored request, and how its answer is awaited: by then its body is no longer in memory. */
interface Stored {
  replayed: boolean;
  answer: () => Promise<Answer>;
}

/** A verified request. */
interface VerifiedRequest extends Genuine {
  endpoint: SealedEndpoint;
  request: IncomingMessage;
  body: Buffer;
  /** Charged for the body. */
  share: TenantShare;
  context: RawCall;
}

async function deliver(
  dependencies: LlmDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  context: RawCall,
): Promise<Answer & { replayed: boolean }> {
  const { replayed, answer } = await receive(dependencies, request, response, context);
  return { ...(await answer()), replayed };
}

/** Reads, verifies and stores a request. */
async function receive(
  dependencies: LlmDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  context: RawCall,
): Promise<Stored> {
  const { gate, patience, anonymousBudget, bodyBudget } = dependencies;
  const address = clientIpOf(request);
  // Nothing is proved yet: an endpoint's id is no secret, so its tenant does not pay.
  const anonymousShare = openAnonymousShare(anonymousBudget, address, request, response);
  const endpointId = endpointIdOf(request);
  const named = endpointId === null ? null : await gate.find(endpointId);
  const body = await readBody(request, context.route.bodyLimit, { share: anonymousShare });
  const signed = signedRequestOf(request, body);
  const genuine = await gate.check(signed, named, address);
  const share = chargeTenant(bodyBudget, genuine.endpoint.tenantId, {
    share: anonymousShare,
    bytes: body.length,
    response,
  });
  const sent = { request, body, share, context };
  const stored = await accept(dependencies, { ...genuine, ...sent }, true);
  if (stored !== null) return stored;
  const opened = await patience.untilOpen(() => gate.find(genuine.endpoint.id));
  const again = await gate.check(signed, opened, address);
  return (await accept(dependencies, { ...again, ...sent }, false)) ?? refuseClosed();
}

/** Null while the endpoint takes no calls of this mode: it is about to move to another tenant. */
async function accept(
  dependencies: LlmDependencies,
  { endpoint, ...sent }: VerifiedRequest,
  isFirst: boolean,
): Promise<Stored | null> {
  const { calls, claims, queue, room, tenants } = dependencies;
  const { request, body, share, context } = sent;
  await tenants.assertActive(endpoint.tenantId, context);
  const id = sent.id ?? idempotencyKeyOf(request);
  const bodySha256 = sha256(body);
  const keys = keysOf(endpoint, { id, idIsSigned: sent.idIsSigned, bodySha256 });
  const again = (known: StoredCall): Stored => {
    if (!known.bodySha256.equals(bodySha256))
      throw new AppError('idempotency_key_reused', 'This id was used for a delivery with another body.');
    share.release();
    return repeated(dependencies, known, context);
  };
  const findEarlier = () => calls.findKnown(endpoint.tenantId, { endpointId: endpoint.id, keys });
  if (isFirst && endpoint.rate_limit_per_minute !== null) {
    const earlier = await findEarlier();
    if (earlier !== null) return again(earlier);
    await countRequest(calls, endpoint);
  }
  let call: NewCall;
  try {
    const made = await newCall(dependencies, { endpoint, request, body, id, bodySha256, keys, context });
    if ('handshake' in made) return shaken(made.handshake);
    call = made.call;
    if (call.mode === 'async') await room.assert(call.tenantId);
    share.grow(Math.max(0, call.request.length - body.length));
  } catch (error) {
    // The template and other settings may have changed since an earlier request was accepted.
    const earlier = await findEarlier();
    if (earlier === null) throw error;
    return again(earlier);
  }
  const claim = claims.make();
  const known = await calls.add(call, claim, async (db) => {
    if (call.mode === 'async') await queue(db, call);
  });
  if (known === 'closed') return null;
  if (known !== null) return again(known);
  // The request of a `sync` call stays in memory until it is answered.
  share.shrink(call.mode === 'sync' ? call.request.length : 0);
  return runSync(dependencies, call, claim.claimId, context);
}

/** A request without a question is not stored. */
function shaken(body: HandshakeAnswer): Stored {
  return { replayed: false, answer: () => Promise.resolve({ status: 200, body }) };
}

function runSync({ sync }: LlmDependencies, call: NewCall, claimId: string, context: RawCall): Stored {
  return { replayed: false, answer: () => answerTo(call, () => sync.run(call, claimId, context)) };
}

function repeated({ sync }: LlmDependencies, call: StoredCall, context: RawCall): Stored {
  return { replayed: true, answer: () => answerTo(call, () => sync.await(call, context)) };
}

async function answerTo(
  { id, agentId, mode }: Pick<StoredCall, 'id' | 'agentId' | 'mode'>,
  result: () => Promise<Omit<WebhookResult, 'call_id' | 'agent_id'>>,
): Promise<Answer> {
  if (mode === 'async') return { status: 202, body: { call_id: id, status: 'queued' } };
  return { status: 200, body: { call_id: id, agent_id: agentId, ...(await result()) } };
}

async function countRequest(
  calls: CallStore,
  { tenantId, id: endpointId, rate_limit_per_minute: limit }: SealedEndpoint,
): Promise<void> {
  if (limit === null) return;
  const { count, endsInMs } = await calls.countRequest({ tenantId, endpointId });
  if (count > limit)
    throw new AppError('rate_limit_exceeded', `The endpoint takes ${limit} deliveries per minute.`, {
      retryAfterMs: endsInMs,
    });
}

async function newCall(
  { guard, texts, templates, tenants, hops }: LlmDependencies,
  asking: {
    endpoint: SealedEndpoint;
    request: IncomingMessage;
    body: Buffer;
    id: string | null;
    bodySha256: Buffer;
    keys: readonly CallKey[];
    context: RawCall;
  },
): Promise<{ call: NewCall } | { handshake: HandshakeAnswer }> {
  const { endpoint, body, id: deliveryId, bodySha256, keys } = asking;
  const { tenantId } = endpoint;
  const parsed = await readInput(templates, endpoint, asking.request, body);
  if ('handshake' in parsed) return parsed;
  const { input } = parsed;
  const userId =
    input.user_id === undefined ? null : await tenants.activeUser(tenantId, input.user_id, asking.context);
  if (input.callback_url !== undefined) await guard.check(input.callback_url, 'callback_url');
  const id = newId();
  const call = {
    hops: hops.read(asking.request.headersDistinct[hopsHeader] ?? []),
    id,
    tenantId,
    endpointId: endpoint.id,
    agentId: endpoint.agent_id,
    deliveryId,
    bodySha256,
    mode: input.mode ?? endpoint.mode,
    userId,
    sessionId: input.session_id ?? null,
    metadata: input.metadata ?? {},
    callbackUrl: input.callback_url ?? endpoint.callback_url,
    deliverTo: endpoint.deliver_to,
    request: texts.requests.seal({ tenantId, id }, requestOf(input)),
    keys,
  };
  return { call };
}

/** The keys by which repeats are known. An unsigned id is not enough: a forger could send another one. */
function keysOf(
  { scheme }: SealedEndpoint,
  { id, idIsSigned, bodySha256 }: { id: string | null; idIsSigned: boolean; bodySha256: Buffer },
): CallKey[] {
  const byId: CallKey[] = id === null ? [] : [{ kind: 'id', digest: sha256(id), retentionS: retentionS.id }];
  if (idIsSigned) return byId;
  return [
    ...byId,
    {
      kind: 'body',
      digest: bodySha256,
      retentionS: scheme === 'token' ? retentionS.tokenBody : retentionS.body,
    },
  ];
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}
