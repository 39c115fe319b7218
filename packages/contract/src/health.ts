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

export const routes: readonly Route[] = [
  route({
    id: 'health',
    method: 'GET',
    path: '/health',
    service: 'edge',
    access: { kind: 'public' },
    response: { ...ok(health), also: 503 },
    summary: 'Health and readiness probe',
    description: 'Answers 503 with the same shape while the gateway starts, drains or can check no key.',
    examples: {
      ok: {
        summary: 'The gateway serves',
        response: { status: 'ok', protocol: protocolVersion, version: '0.1.0' },
      },
    },
  }),
];
