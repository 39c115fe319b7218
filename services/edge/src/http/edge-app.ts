import type { RequestListener } from 'node:http';
import { routes } from '@gatehouse/contract/routes';
import express from 'express';
import type { Gateway } from './gateway.ts';

/**
 * The edge as an HTTP handler: express for the many routes, and the completion paths around it, because express costs
 * them a third of their throughput. Both run the same gateway over the same route table.
 */
export function createEdgeApp(gateway: Gateway): RequestListener {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use((request, response) => gateway.handle(request, response));
  const direct = new Set(routes.filter((route) => route.passThrough).map((route) => route.path));
  return (request, response) => {
    const { url = '' } = request;
    // Express answers some targets that are no paths itself (`http://[`), and not in our words.
    if (direct.has(url) || !url.startsWith('/')) void gateway.handle(request, response);
    else app(request, response);
  };
}
