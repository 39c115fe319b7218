import type { IncomingMessage, ServerResponse } from 'node:http';
import type { InputItemsQuery } from '@gatehouse/contract/responses';
import {
  leaving,
  tenantOf,
  type Call,
  type Handler,
  type RawCall,
  type RawHandler,
} from '@gatehouse/http/app';
import type { BodyBudget, TenantShare } from '@gatehouse/kit/body-budget';
import { openShare } from '@gatehouse/http/body-share';
import { doorHeaders, sendJsonText } from '@gatehouse/http/reply';
import { readPart } from '@gatehouse/http/body';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { StateFormat } from '@gatehouse/dialects/state-format';
import { storedDays } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { isParsable, parsedPart, wholeOf } from '@gatehouse/dialects/wire/json-parts';
import { LargeWork } from '../shared/large-work.ts';
import { placeId } from './response-id.ts';
import {
  elementsIn,
  type StoredResponse,
  type StoredResponses,
  type Reader,
} from './stored-response-store.ts';
import { pageBytes } from '../bounds.ts';

export interface ResponseDependencies {
  responses: StoredResponses;
  settings: TenantSettingsClient;
  bodyBudget: BodyBudget;
  format: StateFormat;
}

/** Stored responses, each for its tenant and its user; others get a 404. */
export function responseHandlers(dependencies: ResponseDependencies): {
  handlers: Record<string, Handler>;
  rawHandlers: Record<string, RawHandler>;
} {
  const reads = new FairQueue(readsInFlight);
  /**
   * A response in memory, counting as that of a body, and what is made of it, which takes the turn of large requests.
   */
  const reading = async <Result>(
    call: AnyCall,
    share: TenantShare,
    { signal, use }: { signal?: AbortSignal; use: (stored: StoredResponse) => Promise<Result> },
  ): Promise<Result> => {
    const reader = await readerOf(dependencies, call);
    // Its size is known once it is found.
    return LargeWork.during({ tenantId: reader.tenantId, bytes: 0, signal }, async (work) => {
      const id = call.params['response_id'] ?? '';
      const stored = await dependencies.responses.find(id, reader, async (bytes) => {
        await share.enter(bytes);
        share.grow(bytes);
        await work.begin(bytes);
      });
      if (stored === null) throw notFound();
      return use(stored);
    });
  };
  return {
    rawHandlers: {
      'responses.get': (request, response, call) =>
        reads.run(call.principal.tenantId, () =>
          reading(call, openShare(dependencies.bodyBudget, call.principal.tenantId, response), {
            signal: leaving(response),
            use: (stored) => send(dependencies.format, stored, { request, response, call }),
          }),
        ),
    },
    handlers: {
      'responses.delete': async (call: Call) => {
        const id = call.params['response_id'] ?? '';
        const { tenantId, userId } = tenantOf(call);
        if (!(await dependencies.responses.delete(id, { tenantId, userId }))) throw notFound();
        return { body: { id, object: 'response', deleted: true } };
      },
      'responses.cancel': async (call: Call) => {
        const id = call.params['response_id'] ?? '';
        const { responses } = dependencies;
        if (!(await responses.has(id, await readerOf(dependencies, call)))) throw notFound();
        throw new AppError(
          'invalid_value',
          'The response is complete: only one in the background can be cancelled.',
          { param: 'response_id' },
        );
      },
      'responses.input_items': (call: Call<unknown, InputItemsQuery>) =>
        reads.run(call.principal.tenantId, async () => {
          const share = dependencies.bodyBudget.open(tenantOf(call).tenantId, null);
          const use = ({ input }: StoredResponse): Promise<Fields> => pageOf(input, call);
          const body = await reading(call, share, { use }).finally(() => share.release());
          return { body };
        }),
    },
  };
}

/** A response may have many megabytes. */
const readsInFlight = {
  perKey: 2,
  maxWaiting: 64,
  longestWait: {
    ms: 7_000,
    error: () =>
      new AppError('service_unavailable', 'Too many responses of this tenant are being read.', {
        retryAfterMs: 1_000,
      }),
  },
};

type AnyCall = Pick<Call, 'principal' | 'params' | 'requestId' | 'trace'>;

async function readerOf({ settings }: ResponseDependencies, call: AnyCall): Promise<Reader> {
  const { tenantId, userId } = tenantOf(call);
  return { tenantId, userId, days: storedDays(await settings.getNow(tenantId, call)) };
}

async function send(
  format: StateFormat,
  stored: StoredResponse,
  { request, response, call }: { request: IncomingMessage; response: ServerResponse; call: RawCall },
): Promise<void> {
  const { searchParams: query } = new URL(request.url ?? '', 'http://localhost');
  const include = ['include', 'include[]'].flatMap((name) => query.getAll(name));
  const encrypted = include.includes('reasoning.encrypted_content');
  const shown = await format.shown(stored.response, { encrypted, tenantId: tenantOf(call).tenantId });
  const headers = doorHeaders(call.requestId, call.dialect);
  if (query.get('stream') !== 'true') {
    sendJsonText(response, 200, shown, headers);
    return;
  }
  const after = placeIn(query.get('starting_after'));
  const { tenantId } = tenantOf(call);
  if (!(await isParsable(shown, wholeOf(shown), tenantId)))
    throw new AppError('invalid_value', 'The response is too large for a stream: read it whole.', {
      param: 'stream',
    });
  const frames = await readPart(shown, tenantId, () => format.streamFrames(shown));
  // An empty stream would look like a broken response.
  if (after >= frames.length - 1) throw noSuchEvent();
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.end(Buffer.concat(frames.slice(after + 1)));
}

/** The number of the event after which a stream begins; -1 for its beginning. */
function placeIn(text: string | null): number {
  if (text === null) return -1;
  if (!/^\d{1,15}$/.test(text)) throw noSuchEvent();
  return Number(text);
}

function noSuchEvent(): AppError {
  return new AppError(
    'invalid_value',
    'starting_after must be the number of an event with others behind it.',
    { param: 'starting_after' },
  );
}

/** Items without an id of their own are known by their places. */
async function pageOf(
  input: Buffer,
  { params, query, principal }: Pick<Call<unknown, InputItemsQuery>, 'params' | 'query' | 'principal'>,
): Promise<Fields> {
  const { limit, order, after } = query;
  const { tenantId } = principal;
  const texts = [...(await elementsIn(input, tenantId ?? '')).entries()];
  if (order === 'desc') texts.reverse();
  let isBehind = after === undefined;
  let bytes = 0;
  let hasMore = false;
  const data: Fields[] = [];
  for (const [place, text] of texts) {
    if (isBehind && data.length > 0 && (data.length === limit || bytes + text.length > pageBytes)) {
      hasMore = true;
      break;
    }
    const item = await parsedPart(text, wholeOf(text), tenantId);
    if (!isFields(item)) continue;
    const shown = { id: placeId(params['response_id'] ?? '', place), type: 'message', ...item };
    if (isBehind) {
      data.push(shown);
      bytes += text.length;
    } else isBehind = shown.id === after;
  }
  if (!isBehind) throw new AppError('invalid_value', 'after must be the id of an item.', { param: 'after' });
  const ids = { first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
  return { object: 'list', data, ...ids, has_more: hasMore };
}

function notFound(): AppError {
  return new AppError('not_found', 'There is no such response.', { param: 'response_id' });
}
