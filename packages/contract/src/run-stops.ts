import { z } from 'zod';
import { storableText, userId, utcTime, uuid } from './fields.ts';
import { accepted, route, scope, type Route } from './route.ts';

/** Stopping what runs: `/v1/runs/stop`. */

export const stopRuns = z.strictObject({
  run_id: uuid.optional().describe('A run under way, and no other. Its session is refused new requests'),
  session_id: storableText(1, 255).optional(),
  user_id: userId.optional(),
  agent_id: uuid.optional(),
  api_key_id: uuid.optional(),
  reason: storableText(1, 500).optional().describe('For the audit log'),
  hold_seconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(60)
    .describe('So long new requests like the stopped ones are refused'),
});
export type StopRuns = z.output<typeof stopRuns>;

export const stoppedRuns = z.strictObject({
  hold_until: utcTime.describe('Later than asked for where an earlier stop of the same runs holds longer'),
});

export const routes: readonly Route[] = [
  route('runs.stop', 'POST /v1/runs/stop', {
    service: 'chat',
    access: scope('runs.write'),
    actingUser: true,
    body: stopRuns,
    response: accepted(stoppedRuns),
    summary: 'Stop runs under way',
    description:
      'Send one of `run_id`, `session_id`, `user_id`, `agent_id` and `api_key_id`. Within a second, every such run under way ends on every replica: its provider call is aborted, and no tool is called again. Its trace is `cancelled`, with `error.type` `stopped` and the usage so far. Until `hold_until`, new requests of the same session, user, agent or key are refused with 403 `run_stopped` and `x-should-retry: false`, so clients do not send again what was cut; with `run_id`, those of its session. A request that acts for a user stops runs of that user only, and a key with the role `user` needs one. Batches at a provider go on: cancel each by its own route. A tenant has 200 stops in force at most; one more returns 403 `limit_reached`. Requests that act for a user have 20 of them each and 100 together, so administrators can always stop runs; such requests are limited to 30 a minute each and 300 together, and beyond return 429 `rate_limit_exceeded`. Beside these, each user can stop all of its own runs once a minute, by `user_id`; a tenant has 1,000 such stops in force.',
    examples: {
      session: {
        summary: 'All runs of a session',
        body: { session_id: 'order-4711', reason: 'Loops', hold_seconds: 300 },
        response: { hold_until: '2026-01-10T09:20:01.480Z' },
      },
    },
  }),
];
