import { z } from 'zod';
import { ok, route, type Route } from './route.ts';

/** `GET /health`. */
export const protocolVersion = 3;

export const health = z.strictObject({
  status: z.enum(['ok', 'unavailable']),
  protocol: z.literal(protocolVersion),
  version: z.string(),
});
export type Health = z.output<typeof health>;

/** `GET /api/hello`. */
export const hello = z.strictObject({});

export const routes: readonly Route[] = [
  route({
    id: 'health',
    method: 'GET',
    path: '/health',
    service: 'edge',
    access: { kind: 'public' },
    response: { ...ok(health), also: 503 },
    summary: 'Health and readiness probe',
    description: 'Returns 503 with the same shape while the gateway starts, drains or cannot check keys.',
    examples: {
      ok: {
        summary: 'The gateway is ready',
        response: { status: 'ok', protocol: protocolVersion, version: '0.3.0' },
      },
    },
  }),
  route({
    id: 'hello',
    method: 'GET',
    path: '/api/hello',
    service: 'edge',
    access: { kind: 'public' },
    response: ok(hello),
    summary: 'Sign of life for coding agents',
    description:
      'Claude Code sends HEAD when it starts. Use `/health` to check whether the gateway is ready.',
    examples: { hello: { summary: 'The gateway can be reached', response: {} } },
  }),
];
