import { z } from 'zod';
import { ok, routesWith, type Route } from './route.ts';

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

const route = routesWith({ service: 'edge', access: { kind: 'public' } });

export const routes: readonly Route[] = [
  route('health', 'GET /health', {
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
  route('hello', 'GET /api/hello', {
    response: ok(hello),
    summary: 'Sign of life for coding agents',
    description:
      'Claude Code sends HEAD when it starts. Use `/health` to check whether the gateway is ready.',
    examples: { hello: { summary: 'The gateway can be reached', response: {} } },
  }),
];
