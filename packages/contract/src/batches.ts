import { z } from 'zod';
import { recordOf } from './fields.ts';
import { objectId, objectList, pageOfOne } from './files.ts';
import { ok, routesWith, scope, type Route } from './route.ts';

/** Batches of requests, in the shape of OpenAI's API: `/v1/batches*`. */

export const createBatch = z.strictObject({
  input_file_id: objectId,
  endpoint: z.string().max(64).describe('The `url` of the lines of the file'),
  completion_window: z.string().max(16).describe('`24h`'),
  metadata: recordOf(z.string().max(64), z.string().max(512), 16).nullish(),
  output_expires_after: z
    .strictObject({ anchor: z.string().max(64), seconds: z.int().min(1).max(2_592_000) })
    .nullish(),
});
export type CreateBatch = z.output<typeof createBatch>;

export const batch = z
  .looseObject({
    id: z.string(),
    object: z.literal('batch'),
    endpoint: z.string(),
    input_file_id: z.string(),
    output_file_id: z.string().nullish().describe('The results; once the batch has ended'),
    error_file_id: z.string().nullish().describe('The requests that failed; once the batch has ended'),
    completion_window: z.string(),
    created_at: z.int().describe('Unix time in seconds'),
    status: z
      .string()
      .describe(
        '`validating`, `in_progress`, `finalizing`, `cancelling`; ended: `completed`, `failed`, `expired`, `cancelled`',
      ),
  })
  .describe('Other members are those of the provider.');

export const listBatches = z.strictObject({
  after: objectId.optional().describe('The id of the batch before the page'),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});
export type ListBatches = z.output<typeof listBatches>;

export const batchList = objectList(batch);

const example = {
  id: 'batch_0198c2f36d2a7e418b072f9c4a1d5e64',
  object: 'batch' as const,
  endpoint: '/v1/chat/completions',
  errors: null,
  input_file_id: 'file-0198c2f36d2a7e418b072f9c4a1d5e63',
  output_file_id: null,
  error_file_id: null,
  completion_window: '24h',
  created_at: 1_790_000_100,
  status: 'in_progress',
  request_counts: { total: 1, completed: 0, failed: 0 },
  metadata: null,
};

const route = routesWith({ service: 'chat', access: scope('chat'), actingUser: true });
const params = { batch_id: example.id };

export const routes: readonly Route[] = [
  route('batches.create', 'POST /v1/batches', {
    body: createBatch,
    response: ok(batch),
    idempotencyKey: true,
    summary: "Start a batch, as OpenAI's API has it",
    description: [
      'The provider that has the file answers its requests within a day, at half of the price unless the operator has',
      'another one. The highest cost is charged to the budgets when the batch starts, and what it did not cost returns',
      'when it has ended. The batch is one run, in traces and in `requests` of usage, with the usage of all its requests.',
      'A repeat with the same `Idempotency-Key` never starts another one: where the provider has not answered whether it',
      'has the batch, it returns 409 `idempotency_in_progress` until that is known, within about five minutes.',
    ].join('\n'),
    examples: {
      batch: {
        summary: 'A batch of one file',
        body: { input_file_id: example.input_file_id, endpoint: example.endpoint, completion_window: '24h' },
        response: { ...example, status: 'validating' },
      },
    },
  }),
  route('batches.list', 'GET /v1/batches', {
    query: listBatches,
    response: ok(batchList),
    summary: 'List batches, newest first',
    description: 'Lists batches of the same user, or of keys without a user.',
    examples: { page: { summary: 'One batch', response: pageOfOne(example) } },
  }),
  route('batches.get', 'GET /v1/batches/{batch_id}', {
    response: ok(batch),
    summary: 'Get a batch',
    description:
      'As the provider last described it, at most a minute ago. A batch has ended once its cost is recorded.',
    examples: { batch: { summary: 'A batch', params, response: example } },
  }),
  route('batches.cancel', 'POST /v1/batches/{batch_id}/cancel', {
    response: ok(batch),
    summary: 'Cancel a batch',
    description: 'Requests that have a response by then are charged, and their results can be read.',
    examples: {
      batch: { summary: 'A batch is cancelled', params, response: { ...example, status: 'cancelling' } },
    },
  }),
];
