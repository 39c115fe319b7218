import { z } from 'zod';
import { modelId, storableText, userId, utcTime, uuid } from './fields.ts';
import { policyPeriods } from './policies.ts';
import { ok, route, type Route } from './route.ts';

/** Limits and budgets: `GET /v1/limits`. */

const count = z.int();
const usdAmount = z.string();

export const limitState = z.strictObject({
  resource: z.enum([
    'requests',
    'tokens',
    'concurrency',
    'budget',
    'memory_documents',
    'memory_bytes',
    'memory_entities',
  ]),
  /** Null for what has no window: concurrency and memory. */
  window: z.enum(['minute', ...policyPeriods]).nullable(),
  /** Counts are numbers; money is decimal text in USD. */
  limit: z.union([count, usdAmount]),
  used: z
    .union([count, usdAmount])
    .nullable()
    .describe(
      'Of a budget what is spent; of tokens per minute with what requests under way have reserved. `null` for limits of memory while the memory service is unavailable',
    ),
  reserved: z
    .union([count, usdAmount])
    .describe(
      'Amount of a budget that requests under way have reserved; the unspent part is released. Otherwise 0',
    ),
  remaining: z.union([count, usdAmount]).nullable().describe('`null` when `used` is'),
  resets_at: utcTime.nullable(),
  policy: z.string().nullable().describe('The name of the policy; `null` for a limit of the tenant or key'),
  value: z
    .string()
    .nullable()
    .describe('The value of `per` that the policy counts; `null` if it has one counter for all runs'),
});
export type LimitState = z.output<typeof limitState>;

export const limitList = z.strictObject({
  timezone: z
    .string()
    .describe(
      "The tenant's IANA time zone. Budgets begin by the one that the operator has set: see `resets_at`",
    ),
  limits: z.array(limitState),
});
export type LimitList = z.output<typeof limitList>;

export const limitsQuery = z.strictObject({
  user_id: userId.optional().describe('Limits of this user, by whatever key'),
  session_id: storableText(1, 255).optional().describe('With policies that count this session'),
  agent_id: uuid.optional().describe('With policies that count this agent'),
  model: modelId.optional().describe('With policies that count this model'),
});

export const routes: readonly Route[] = [
  route('limits.get', 'GET /v1/limits', {
    service: 'tenant',
    access: { kind: 'key' },
    query: limitsQuery,
    response: ok(limitList),
    summary: 'Get the limits of the next request and their use',
    description:
      'Of several limits of one resource and window, the one with the least remaining: of the tenant, the key, or a policy that refuses. With a parameter, it needs the scope `policies.write`.',
    examples: {
      tenant: {
        summary: 'Requests per minute, concurrent requests, a monthly budget and memory',
        response: {
          timezone: 'UTC',
          limits: [
            {
              resource: 'requests',
              window: 'minute',
              limit: 600,
              used: 41,
              reserved: 0,
              remaining: 559,
              resets_at: '2026-01-10T09:01:00.000Z',
              policy: null,
              value: null,
            },
            {
              resource: 'concurrency',
              window: null,
              limit: 20,
              used: 3,
              reserved: 0,
              remaining: 17,
              resets_at: null,
              policy: null,
              value: null,
            },
            {
              resource: 'budget',
              window: 'month',
              limit: '50.000000000000',
              used: '12.340500000000',
              reserved: '0.096000000000',
              remaining: '37.563500000000',
              resets_at: '2026-02-01T00:00:00.000Z',
              policy: 'people',
              value: 'ada',
            },
            {
              resource: 'memory_documents',
              window: null,
              limit: 100_000,
              used: 1_204,
              reserved: 0,
              remaining: 98_796,
              resets_at: null,
              policy: null,
              value: null,
            },
            {
              resource: 'memory_bytes',
              window: null,
              limit: 5_368_709_120,
              used: 9_310_221,
              reserved: 0,
              remaining: 5_359_398_899,
              resets_at: null,
              policy: null,
              value: null,
            },
            {
              resource: 'memory_entities',
              window: null,
              limit: 1_000_000,
              used: 0,
              reserved: 0,
              remaining: 1_000_000,
              resets_at: null,
              policy: null,
              value: null,
            },
          ],
        },
      },
    },
  }),
];
