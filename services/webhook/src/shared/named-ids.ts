import type { IncomingMessage } from 'node:http';
import { isUuid } from '@gatehouse/kit/ids';

/** The endpoint of a request, by its query or a header; null without one, and for two. */
export function endpointIdOf(request: IncomingMessage): string | null {
  return onlyId([...queryOf(request, 'endpoint'), ...(request.headersDistinct['x-webhook-endpoint'] ?? [])]);
}

/** The channel of a request; null without one, and for two. */
export function channelIdOf(request: IncomingMessage): string | null {
  return onlyId(queryOf(request, 'channel'));
}

function queryOf({ url = '' }: IncomingMessage, name: string): string[] {
  return new URLSearchParams(url.split('?')[1] ?? '').getAll(name);
}

/** In lower case, as the database writes ids. */
function onlyId(named: readonly string[]): string | null {
  const [id = ''] = named;
  return named.length === 1 && isUuid(id) ? id.toLowerCase() : null;
}
