import { z } from 'zod';
import { utcTime } from './fields.ts';
import { ok, owner, route, type Route } from './route.ts';

/** The health of providers: `/internal/v1/owner/providers`. */

const milliseconds = z.int().min(0);
const quantiles = z.object({ p50: milliseconds.nullable(), p99: milliseconds.nullable() });

const providerKey = z.object({
  position: z.int().min(1).describe('In the catalogue; the key itself is never shown'),
  status: z
    .enum(['active', 'resting', 'failing'])
    .describe('`resting`: limited by the provider for some model and tenant; `failing`: refused'),
  rests_until: utcTime.nullable(),
});

export const providerDeployment = z.object({
  provider: z.string(),
  upstream_model: z.string().describe("The provider's name of the model; a pattern for all names behind it"),
  models: z.array(z.string()).describe('Ids in the catalogue'),
  breaker: z
    .enum(['closed', 'open_for_some', 'open'])
    .describe('`open_for_some`: for some tenants, or on some replicas. Open ones let probes through'),
  keys: z.array(providerKey).describe('The key pool of a provider with several keys'),
  calls: z.int().min(0),
  errors: z.record(z.string(), z.int().min(1)).describe('Calls that failed, by the code of the error'),
  first_byte_ms: quantiles,
  duration_ms: quantiles,
  tokens_per_second: z.number().min(0).nullable().describe('Output tokens by the time of the calls'),
});
export type ProviderDeployment = z.output<typeof providerDeployment>;

export const providerDeploymentList = z.object({
  object: z.literal('list'),
  data: z.array(providerDeployment),
  has_more: z.literal(true).optional().describe('Present if the list exceeds a response of 1 MiB'),
});

const example: ProviderDeployment = {
  ...{ provider: 'azure-eu', upstream_model: 'gpt-4-1-mini-eu', models: ['gpt-4.1-mini'], breaker: 'closed' },
  keys: [
    { position: 1, status: 'active', rests_until: null },
    { position: 2, status: 'resting', rests_until: '2026-01-12T08:00:30.000Z' },
  ],
  ...{ calls: 1_204, errors: { provider_timeout: 3 } },
  ...{ first_byte_ms: { p50: 430, p99: 2_100 }, duration_ms: { p50: 3_400, p99: 19_500 } },
  tokens_per_second: 61.4,
};

export const routes: readonly Route[] = [
  route('owner.providers.list', 'GET /internal/v1/owner/providers', {
    service: 'chat',
    access: owner,
    response: ok(providerDeploymentList),
    summary: 'Health of the deployments of the catalogue',
    description:
      'Calls of the last ten minutes, breakers and keys over all replicas, as each replica reports them every five seconds.',
    examples: {
      health: {
        summary: 'A deployment one of whose keys is limited',
        response: { object: 'list', data: [example] },
      },
    },
  }),
];
