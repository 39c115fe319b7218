import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { AppError } from '@gatehouse/kit/errors';
import { continueTrace } from '@gatehouse/kit/trace-context';
import type { SpanRecord } from '@gatehouse/kit/tracing';
import { testIdentity } from '@gatehouse/test/identity';
import { appParts } from '../test/app-parts.ts';
import { createApp, type Handler } from './app.ts';
import { requestSpan } from './request-span.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const route = routes.find((each) => each.id === 'agents.get') ?? null;

function spanOf(fields: Partial<Parameters<typeof requestSpan>[0]> = {}): SpanRecord {
  const context = { requestId: 'r-1', trace: continueTrace(`00-${traceId}-00f067aa0ba902b7-01`) };
  return requestSpan({ context, method: 'GET', route, status: 200, startedAt: 1, endedAt: 3, ...fields });
}

describe('the span of a request', () => {
  it('is named after the route and never after the path', () => {
    expect(spanOf()).toMatchObject({
      name: `GET ${route?.path ?? ''}`,
      kind: 'server',
      failed: false,
      context: { traceId, parentSpanId: '00f067aa0ba902b7' },
      attributes: {
        'http.request.method': 'GET',
        'http.route': route?.path,
        'http.response.status_code': 200,
        'gatehouse.request_id': 'r-1',
      },
    });
    expect(spanOf({ route: null }).name).toBe('GET');
  });

  it('has one word for all methods that are none', () => {
    const span = spanOf({ method: 'BREW', route: null, status: 405 });
    expect([span.name, span.attributes['http.request.method']]).toEqual(['HTTP', '_OTHER']);
  });

  it.each([
    [404, false],
    [499, false],
    [500, true],
    [503, true],
  ])('of status %i failed: %s', (status, failed) => {
    const span = spanOf({ status });
    expect([span.failed, span.attributes['error.type']]).toEqual([
      failed,
      failed ? String(status) : undefined,
    ]);
  });

  it('is recorded by an app for every request, refused ones too', async () => {
    const identity = await testIdentity();
    const spans: SpanRecord[] = [];
    const fine: Handler = () => Promise.resolve({ body: {} });
    const handlers = Object.fromEntries(
      routes.filter((each) => each.service === 'agent').map((each) => [each.id, fine]),
    );
    handlers['agents.get'] = () => Promise.reject(new AppError('database_unavailable', 'Not now.'));
    const app = createApp({
      service: 'agent',
      handlers,
      ...(await appParts(identity)),
      tracer: { record: (span) => void spans.push(span), stop: () => Promise.resolve() },
    });
    const assertion = await identity.assertion();
    await serving(app, async (url) => {
      for (const path of ['/v1/agents', '/v1/agents/x', '/v1/agents/x/y'])
        await fetch(`${url}${path}`, { headers: { 'x-gatehouse-assertion': assertion } });
      await fetch(`${url}/v1/agents`);
    });
    expect(spans.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
      ['GET /v1/agents', 200],
      [`GET ${route?.path ?? ''}`, 503],
      ['GET', 404],
      ['GET /v1/agents', 401],
    ]);
  });
});

async function serving(app: RequestListener, work: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  server.closeAllConnections();
  server.close();
}
