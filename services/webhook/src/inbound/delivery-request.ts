import type { IncomingMessage } from 'node:http';
import { isUuid } from '@gatehouse/kit/ids';
import type { Delivery } from './schemes.ts';

/** A request as a delivery. */
export function deliveryOf(request: IncomingMessage, body: Buffer): Delivery {
  return { header: (name) => request.headersDistinct[name] ?? [], body };
}

/** The endpoint that a request names, by its query or a header; null if it names none, or two. */
export function endpointIdOf(request: IncomingMessage): string | null {
  const query = new URLSearchParams((request.url ?? '').split('?')[1] ?? '').getAll('endpoint');
  const named = [...query, ...(request.headersDistinct['x-webhook-endpoint'] ?? [])];
  const [id = ''] = named;
  return named.length === 1 && isUuid(id) ? id : null;
}
