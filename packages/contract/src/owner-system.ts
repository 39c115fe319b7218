import { z } from 'zod';
import { ok, owner, route, type Route } from './route.ts';
import { services } from './services.ts';

/** The state of the services as the operator sees it: `/internal/v1/owner/system`. */

const count = z.int().min(0);
const seconds = z.number().min(0);

const outboxState = z.object({
  name: z.string(),
  waiting: count.describe('Events that wait for publication; counts up to 100,000'),
  oldest_age_seconds: seconds.describe('The age of the oldest of them; 0 if there is none'),
  dead_letters: count.describe('Events that could not be published'),
});

const queueState = z.object({
  name: z.string(),
  waiting: count.describe('Jobs that could run now; counts up to 100,000'),
  oldest_age_seconds: seconds.describe(
    'How long the oldest of them could have run already; 0 if there is none',
  ),
});

const names = services.filter(({ database }) => database === true).map(({ name }) => name);

export const systemService = z.object({
  service: z.enum(names),
  status: z.enum(['up', 'down']).describe('`down`: its state could not be read, and all figures are null'),
  error: z.string().nullable().describe('Why it could not: the code of an error'),
  replicas: count.nullable().describe('Replicas that are connected to the database of the service'),
  outboxes: z.array(outboxState).nullable(),
  queues: z.array(queueState).nullable().describe('Background jobs by their task'),
  dead_jobs: count.nullable().describe('Jobs whose last attempt failed; kept for 30 days, at most 1,000'),
  dead_letters: count
    .nullable()
    .describe('Events that the service could not read or store; null for a service that takes none'),
});
export type SystemService = z.output<typeof systemService>;

export const systemState = z.object({
  object: z.literal('list'),
  usage_lag_seconds: seconds
    .nullable()
    .describe('The age of `as_of`, up to which every run is in usage and costs; null if it is not known'),
  data: z.array(systemService),
});
export type SystemState = z.output<typeof systemState>;

const example: SystemState = {
  object: 'list',
  usage_lag_seconds: 1.4,
  data: [
    {
      ...{ service: 'chat', status: 'up', error: null, replicas: 2 },
      outboxes: [{ name: 'outbox', waiting: 12, oldest_age_seconds: 0.2, dead_letters: 0 }],
      ...{ queues: [], dead_jobs: 0, dead_letters: null },
    },
    {
      ...{ service: 'webhook', status: 'down', error: 'service_unavailable', replicas: null },
      ...{ outboxes: null, queues: null, dead_jobs: null, dead_letters: null },
    },
  ],
};

export const routes: readonly Route[] = [
  route('owner.system.get', 'GET /internal/v1/owner/system', {
    service: 'tenant',
    access: owner,
    response: ok(systemState),
    summary: 'State of the services: lag, outboxes, dead letters, jobs, replicas',
    description:
      'Reads the figures of the database of each service. A service that does not respond within two seconds is `down`; the others are listed all the same.',
    examples: { state: { summary: 'A service that can’t be reached', response: example } },
  }),
];
