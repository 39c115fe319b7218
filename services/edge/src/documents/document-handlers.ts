import { relayId } from '@gatehouse/contract/console';
import { routes } from '@gatehouse/contract/routes';
import { sendJson } from '@gatehouse/http/reply';
import { consoleHandlers } from './console-handlers.ts';
import type { DocumentHandler } from './document.ts';
import { healthHandler } from './health-handlers.ts';
import { openApiHandler } from './openapi-handlers.ts';
import { pageHandlers } from './page-handlers.ts';

/** Documents that the edge itself serves, by route id. Throws when a route of the edge has no handler. */
export function documentHandlers(isReady: () => boolean): ReadonlyMap<string, DocumentHandler> {
  const handlers = new Map<string, DocumentHandler>([
    ['health', healthHandler(isReady)],
    ['hello', (_request, response) => sendJson(response, 200, {})],
    ['openapi', openApiHandler()],
    ...consoleHandlers(),
    ...pageHandlers(),
  ]);
  const missing = routes.find(({ id, service }) => service === 'edge' && id !== relayId && !handlers.has(id));
  if (missing !== undefined) throw new Error(`the edge has no handler for ${missing.id}`);
  return handlers;
}
