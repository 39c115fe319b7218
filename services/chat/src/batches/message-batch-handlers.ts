import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ListMessageBatches } from '@gatehouse/contract/message-batches';
import { tenantOf, type Call, type Handler, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders, readBody } from '@gatehouse/http/body';
import type { BodyBudget, TenantShare } from '@gatehouse/kit/body-budget';
import { fingerprintHash, idempotencyKeyOf, targetOf, type Claim } from '@gatehouse/http/idempotency-key';
import { doorHeaders, sendJson, type Reply } from '@gatehouse/http/reply';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import type { Principal } from '@gatehouse/identity/principal';
import type { Target } from '../catalogue/target.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { objectId } from '../shared/object-id.ts';
import { signatureOrigins, type SignatureDependencies } from '../turns/signature-stage.ts';
import { nameOfFirst, batchesPath, resultsPath, shownMessageBatch } from './anthropic-batch.ts';
import { passedHeaders } from '../completions/client-headers.ts';
import {
  acceptedKey,
  batchOf,
  pageAt,
  pageBetween,
  targetsFor,
  tooMany,
  type BatchDependencies,
} from './batch-call-handlers.ts';
import { cancelOpen, startBatch, startOnce, type BatchHandlerDependencies } from './batch-start-handlers.ts';
import { lineGuardrails, type UploadDependencies } from './upload-handlers.ts';
import { hasId, messageBatchPrefix } from './batch-api.ts';
import { messagesKind } from './batch-requests.ts';
import { hideBatch, listBatches, type StoredBatch } from './batch-store.ts';
import { MessageRequests, type MessageRequestsOptions } from './message-request-handlers.ts';
import { replaced } from './replaced-text.ts';
import { sendLines, type Exchange } from './result-handlers.ts';
import { mostListed, bodyPartBytes, hashedBytes } from '../bounds.ts';

const api = 'anthropic';
const inPath = { api, prefix: messageBatchPrefix, param: 'message_batch_id' } as const;

/** A body is in memory until its provider has it. */
const startsInFlight = { perKey: 1, slots: 2, maxWaiting: 2, tooMany: tooMany('starts of batches') };

export interface MessageBatchDependencies
  extends BatchHandlerDependencies, SignatureDependencies, Pick<UploadDependencies, 'guardrails'> {
  bodyBudget: BodyBudget;
  /** Results read by clients at a time. */
  downloads: FairQueue;
}

/** Batches of messages, as Anthropic's API has them, each for its tenant and its user. */
export function messageBatchHandlers(dependencies: MessageBatchDependencies): {
  handlers: Record<string, Handler>;
  rawHandlers: Record<string, RawHandler>;
} {
  const { pool, downloads } = dependencies;
  const starts = new FairQueue(startsInFlight);
  return {
    rawHandlers: {
      'messages.batches.create': async (request, response, call) => {
        // Released with the work, which goes on after its client leaves.
        const share = dependencies.bodyBudget.open(tenantOf(call).tenantId, null);
        const reply = await answerCreate(dependencies, starts, { request, share, call }).finally(() =>
          share.release(),
        );
        const { status = call.route.response.status, headers, body } = reply;
        sendJson(response, status, body, { ...headers, ...doorHeaders(call.requestId, call.dialect) });
      },
      'messages.batches.results': (request, response, call) =>
        downloads.run(tenantOf(call).tenantId, () => sendResults(dependencies, { request, response, call })),
    },
    handlers: {
      'messages.batches.get': async (call: Call) => ({
        body: showBatch(dependencies, await batchOf(dependencies, call, inPath), tenantOf(call).tenantId),
      }),
      'messages.batches.list': async (call: Call<unknown, ListMessageBatches>) => {
        const { tenantId, userId } = tenantOf(call);
        const { after_id: afterId, before_id: beforeId } = call.query;
        const limit = Math.min(call.query.limit, mostListed);
        const after = pageAt(messageBatchPrefix, 'after_id', afterId);
        const before = pageAt(messageBatchPrefix, 'before_id', beforeId);
        const page = { api, after, before, limit: limit + 1 } as const;
        const batches = await listBatches(pool, { tenantId, userId }, page);
        const objects = batches.slice(0, limit).map((batch) => showBatch(dependencies, batch, tenantId));
        const data = before === null ? objects : objects.reverse();
        return { body: pageBetween(data, batches.length > limit) };
      },
      'messages.batches.cancel': async (call: Call) => {
        const batch = await batchOf(dependencies, call, inPath);
        return { body: shownBatch(await cancelOpen(dependencies, call, batch), batch) };
      },
      'messages.batches.delete': async (call: Call) => {
        const batch = await batchOf(dependencies, call, inPath);
        const { id } = batch;
        if (!(await hideBatch(pool, { id, api }, tenantOf(call)))) {
          // Another request may have deleted it meanwhile.
          await batchOf(dependencies, call, inPath);
          throw invalid('Cancel the batch first: one under way is not deleted.');
        }
        return { body: { id: objectId(messageBatchPrefix, id), type: 'message_batch_deleted' } };
      },
    },
  };
}

function showBatch({ sealed }: BatchDependencies, batch: StoredBatch, tenantId: string): Fields {
  return shownBatch(sealed.open(batch.content, { id: batch.id, tenantId }), batch);
}

function shownBatch(object: Fields, { id, ended, outputFileId }: StoredBatch): Fields {
  return shownMessageBatch(object, { id, ended, hasResults: outputFileId !== null });
}

function invalid(message: string): AppError {
  return new AppError('invalid_value', message, { param: 'message_batch_id' });
}

/** Reads the whole body, and starts its batch; a repeat with the same `Idempotency-Key` gets the first answer. */
async function answerCreate(
  dependencies: MessageBatchDependencies,
  starts: FairQueue,
  { request, share, call }: { request: IncomingMessage; share: TenantShare; call: RawCall },
): Promise<Reply> {
  const { idempotency } = dependencies;
  const { principal, route, params, requestId } = call;
  const { tenantId } = tenantOf(call);
  checkBodyHeaders(request, route);
  const held: HeldBody = { body: await readBody(request, route.bodyLimit, { share }) };
  const key = idempotencyKeyOf(request);
  const headers = passedHeaders(request, dialects.messages);
  const client = request.headers['user-agent'];
  if (key === null)
    return { body: await create(dependencies, starts, { held, headers, client, call, claim: null }) };
  const fingerprint = await fingerprintOf(principal, { url: request.url ?? '', held, tenantId });
  const content = ['messages', fingerprint.toString('base64')];
  const keyed = { tenantId, key, target: targetOf(route.id, params), fingerprint, requestId };
  return idempotency.once(keyed, (claim) =>
    idempotency.during(claim, async () => ({
      body: await startOnce(
        dependencies,
        { ...call, claim },
        {
          content,
          start: (requestDigest) =>
            create(dependencies, starts, { held, headers, client, call, claim, requestDigest }),
          showBatch: (batch, tenant) => showBatch(dependencies, batch, tenant),
        },
      ),
    })),
  );
}

/** SHA-256 of what defines the request, in turns of the tenant at the event loop. */
async function fingerprintOf(
  principal: Pick<Principal, 'keyId' | 'userId'>,
  { url, held, tenantId }: { url: string; held: HeldBody; tenantId: string },
): Promise<Buffer> {
  const hash = fingerprintHash(principal, url);
  for (let at = 0; at < held.body.length; at += hashedBytes)
    await runCooperatively(tenantId, () => hash.update(held.body.subarray(at, at + hashedBytes)));
  return hash.digest();
}

/** The body of a request until its requests are read: their provider gets pieces of it. */
interface HeldBody {
  body: Buffer;
}

interface Creation {
  held: HeldBody;
  headers: Record<string, string>;
  client: string | undefined;
  call: RawCall;
  claim: Claim | null;
  requestDigest?: Buffer | null;
}

async function create(
  dependencies: MessageBatchDependencies,
  starts: FairQueue,
  { held, headers, client, call, claim, requestDigest = null }: Creation,
): Promise<Fields> {
  const { sealed, providers } = dependencies;
  const principal = tenantOf(call);
  const { tenantId, userId } = principal;
  await dependencies.counts.count(tenantId, 'message_batches');
  const settings = await dependencies.settings.getForKey(principal, call);
  const id = newId();
  const targets = targetsFor(dependencies, { settings, userId });
  const signaturesFor: MessageRequestsOptions['signaturesFor'] = async (text, target) => {
    const signed = { api: dialects.messages.name, target, tenantId };
    const signatures = await signatureOrigins(dependencies, { ...signed, text, settings });
    // All keys of a provider read the same.
    return providers.signaturesFor(target.chain[0], null, { ...signed, signatures });
  };
  const targetFor = (model: string): Target => targets(model, messagesKind.api);
  const guardrails = await lineGuardrails(dependencies, settings, call);
  const options = { tenantId, targetFor, headers, signaturesFor, guardrails };
  const { requests, firstId, body } = await starts.run(tenantId, () =>
    new MessageRequests(held.body, options).checked(nameOfFirst(id)),
  );
  held.body = Buffer.alloc(0);
  const { resources, key } = await acceptedKey(dependencies, api, {
    ...{ model: requests.model, target: requests.target, tenantId },
  });
  return startBatch(dependencies, {
    ...{ id, call: { ...call, claim }, api, kind: messagesKind, key, resources, requestDigest, client },
    ...{
      requests: { ...requests.sum, ...guardrails.checked },
      model: requests.model,
      settings,
      param: 'requests',
    },
    ...{ inputFileId: id, providerFileId: '', firstId: sealed.seal({ firstId }, { id, tenantId }) },
    ask: (signal) =>
      resources.json({
        ...{ method: 'POST', path: batchesPath, isAnswer: hasId, signal },
        body: Readable.from(body.parts(bodyPartBytes)),
        headers: { ...headers, 'content-type': 'application/json', 'content-length': String(body.length) },
      }),
    toClient: (object) => shownMessageBatch(object, { id, ended: false, hasResults: false }),
  });
}

/** Results of a batch, with the client's own name for the first request. */
async function sendResults(dependencies: MessageBatchDependencies, exchange: Exchange): Promise<void> {
  const { call } = exchange;
  const { tenantId } = tenantOf(call);
  const batch = await batchOf(dependencies, call, inPath);
  const { id, key, providerBatchId } = batch;
  if (!batch.ended) throw invalid('The batch has no results yet: its processing_status is not ended.');
  if (batch.outputFileId === null || batch.firstId === null)
    throw new AppError('not_found', 'The batch has no results.', { param: 'message_batch_id' });
  const { firstId } = dependencies.sealed.open(batch.firstId, { id, tenantId });
  const named = (name: unknown): Buffer => Buffer.from(JSON.stringify(name));
  await sendLines(dependencies, exchange, {
    ...{ key, path: resultsPath(providerBatchId) },
    headers: passedHeaders(exchange.request, dialects.messages),
    through: (content) =>
      Readable.from(replaced(content, named(nameOfFirst(id)), named(firstId)), { objectMode: false }),
  });
}
