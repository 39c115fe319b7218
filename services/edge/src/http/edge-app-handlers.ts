import type { RequestListener } from 'node:http';
import { routes } from '@gatehouse/contract/routes';
import express from 'express';
import type { Gateway } from './gateway-handlers.ts';

/**
 * The edge as an HTTP handler. Completion paths bypass express, which would cost them a third of their throughput. Both
 * ways call the same gateway.
 */
export function createEdgeApp(gateway: Gateway): RequestListener {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use((request, response) => gateway.handle(request, response));
  const direct = new Set(routes.filter((route) => route.passThrough).map((route) => route.path));
  return (request, response) => {
    const { url = '' } = request;
    // Express answers some targets that are not paths (`http://[`) itself, without our error shape.
    if (direct.has(url) || !url.startsWith('/')) void gateway.handle(request, response);
    else app(request, response);
  };
}
