import type { pageHeader } from '@gatehouse/contract/sessions';
import { ApiError, errorOf } from './api-error.ts';
import type { AnswerOf, EndpointName, FileName, InputOf, ItemOf, ListName } from './endpoint-types.ts';
import { mostNames } from '../bounds.ts';

/** Calls of the API with the session of the browser. */

/** The type compares it with the contract: an import of its code would bring its shapes into the page. */
const page: typeof pageHeader = { name: 'x-gatehouse-page', value: '1' };

/** The items of each page of a list read to its end. */
const pageSize = 200;

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Makes a repeat after a lost answer safe. */
  idempotencyKey?: string;
}

/** Calls an endpoint. Throws an `ApiError`. */
export async function call<Name extends EndpointName>(
  name: Name,
  input: InputOf<Name>,
  options: CallOptions = {},
): Promise<AnswerOf<Name>> {
  const [method = '', path = ''] = name.split(' ');
  const { params, query, body } = input;
  const response = await send(urlOf(path, { ...params }, { ...query }), { method, body, ...options });
  const text = await response.text();
  // The endpoint's answer by its contract, which tests of the API hold it to.
  return (text === '' ? undefined : JSON.parse(text)) as AnswerOf<Name>;
}

/** The items of a list, page after page, up to a bound. Throws an `ApiError`. */
export async function callAll<Name extends ListName>(
  name: Name,
  input: InputOf<Name>,
  signal: AbortSignal,
): Promise<ItemOf<Name>[]> {
  const items: ItemOf<Name>[] = [];
  for (let cursor: string | null = ''; cursor !== null && items.length < mostNames;) {
    const query: Record<string, string | undefined> = { ...input.query, limit: String(pageSize), cursor };
    const page: AnswerOf<Name> = await call(name, { ...input, query }, { signal });
    items.push(...page.data);
    cursor = page.has_more ? page.next_cursor : null;
  }
  return items;
}

/** A file in the response of an endpoint. */
export interface Download {
  content: Blob;
  name: string;
}

/** Reads all of a file. Throws an `ApiError`, also where the file is cut. */
export async function download<Name extends FileName>(name: Name, input: InputOf<Name>): Promise<Download> {
  const [method = '', path = ''] = name.split(' ');
  const { params, query } = input;
  return downloadOf(await send(urlOf(path, { ...params }, { ...query }), { method }));
}

/** Reads a file from a response. Throws an `ApiError` where it is cut. */
export async function downloadOf(response: Response): Promise<Download> {
  const [, named] = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  try {
    return { content: await response.blob(), name: named ?? 'export' };
  } catch {
    throw new ApiError('The file was cut before its end. Try again.', {
      requestId: response.headers.get('x-request-id'),
    });
  }
}

export interface Sent extends CallOptions {
  method: string;
  /** JSON, or an upload: a `Blob` with its type, or a form. */
  body?: unknown;
  /** The wanted type of the response, if it has several. */
  accept?: string;
}

/** Sends a request, and returns its response if it is no error. Without a session the browser goes to the login. */
export async function send(
  url: string,
  { method, body, accept, signal, idempotencyKey }: Sent,
): Promise<Response> {
  const headers = {
    [page.name]: page.value,
    ...(body !== undefined && !isUpload(body) && { 'content-type': 'application/json' }),
    ...(accept !== undefined && { accept }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
  const response = await reach(url, {
    method,
    headers,
    ...(body !== undefined && { body: isUpload(body) ? body : JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.code === 'invalid_session') return goToLogin();
  throw error;
}

/** The browser sends these as they are, with their own content type. */
function isUpload(body: unknown): body is Blob | FormData {
  return body instanceof Blob || body instanceof FormData;
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ApiError('The gateway could not be reached. Check the connection and try again.');
  }
}

/** Never resolves: the document is about to be left. */
function goToLogin(): Promise<never> {
  const { pathname, search } = location;
  location.assign(`/login?return_to=${encodeURIComponent(pathname + search)}`);
  return new Promise(() => {});
}

/** The URL of an endpoint. Empty query parameters are left out. */
export function urlOf(
  path: string,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string | undefined>>,
): string {
  const filled = path.replace(/\{(\w+)(\+?)\}/g, (_, name: string, several: string) => {
    const value = params[name] ?? '';
    return (several === '' ? [value] : value.split('/')).map(encodeURIComponent).join('/');
  });
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  return pairs.length === 0 ? filled : `${filled}?${new URLSearchParams(pairs).toString()}`;
}
