import { z } from 'zod';
import { objectId } from './files.ts';
import { message, messageRequest } from './messages.ts';
import { MiB, ok, routesWith, scope, type Route } from './route.ts';

/**
 * Batches of messages, in the shape of Anthropic's API (https://docs.claude.com/en/api/creating-message-batches):
 * `/v1/messages/batches*`. Requests in a batch are not validated against these shapes: every field is passed on.
 */

export const createMessageBatch = z.strictObject({
  requests: z
    .array(
      z.strictObject({
        custom_id: z
          .string()
          .regex(/^[a-zA-Z0-9_-]{1,64}$/)
          .describe('Your name of the request, which no other has'),
        params: messageRequest.describe(
          'As for `POST /v1/messages`. The `model` is the same in all requests',
        ),
      }),
    )
    .min(1)
    .max(10_000),
});

const count = z.int().min(0);

export const messageBatch = z
  .looseObject({
    id: z.string(),
    type: z.literal('message_batch'),
    processing_status: z.string().describe('`in_progress`, `canceling`; `ended` once its cost is recorded'),
    request_counts: z
      .looseObject({
        processing: count,
        succeeded: count,
        errored: count,
        canceled: count,
        expired: count,
      })
      .describe('All are `processing` until the batch has ended'),
    created_at: z.string(),
    expires_at: z.string(),
    ended_at: z.string().nullish(),
    cancel_initiated_at: z.string().nullish(),
    archived_at: z.string().nullish(),
    results_url: z.string().nullable().describe('The path of the results; once the batch has ended'),
  })
  .describe('Other members are those of the provider.');

const clientsOwn = z.looseObject({});

export const listMessageBatches = z.looseObject({
  after_id: objectId.optional().describe('The id of the batch before the page'),
  before_id: objectId.optional().describe('The id of the batch behind the page, in place of `after_id`'),
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
});
export type ListMessageBatches = z.output<typeof listMessageBatches>;

export const messageBatchList = z.object({
  data: z.array(messageBatch),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

export const deletedMessageBatch = z.object({
  id: z.string(),
  type: z.literal('message_batch_deleted'),
});

export const messageResult = z.looseObject({
  custom_id: z.string(),
  result: z.looseObject({
    type: z.string().describe('`succeeded`, `errored`, `canceled`, `expired`'),
    message: message.optional().describe('For type `succeeded`'),
    error: z.looseObject({}).optional().describe('For type `errored`'),
  }),
});

const id = 'msgbatch_0198c2f36d2a7e418b072f9c4a1d5e64';

const none = { succeeded: 0, errored: 0, canceled: 0, expired: 0 };

const example = {
  id,
  type: 'message_batch' as const,
  processing_status: 'in_progress',
  request_counts: { processing: 1, ...none },
  created_at: '2026-11-27T08:00:00Z',
  expires_at: '2026-11-28T08:00:00Z',
  ended_at: null,
  cancel_initiated_at: null,
  archived_at: null,
  results_url: null,
};

const result = {
  custom_id: 'one',
  result: {
    type: 'succeeded',
    message: {
      id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
      type: 'message' as const,
      role: 'assistant' as const,
      model: 'claude-sonnet-5-5',
      content: [{ type: 'text', text: 'A gatehouse is a building that guards an entrance.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 12, output_tokens: 11 },
    },
  },
};

const route = routesWith({
  service: 'chat',
  dialects: ['messages'],
  access: scope('chat'),
  actingUser: true,
  query: clientsOwn,
});
const params = { message_batch_id: id };

export const routes: readonly Route[] = [
  route('messages.batches.create', 'POST /v1/messages/batches', {
    passedBody: createMessageBatch,
    bodyLimit: 32 * MiB,
    response: ok(messageBatch),
    idempotencyKey: true,
    summary: "Start a batch of messages, as Anthropic's API has it",
    description: [
      'The provider answers the requests within a day, at half of the price unless the operator has another one. All of',
      'them have the same model, whose provider is of the kind `anthropic`. The highest cost is charged to the budgets',
      'when the batch starts, and what it did not cost returns when it has ended. The batch is one run, in traces and in',
      '`requests` of usage, with the usage of all its requests. A repeat with the same `Idempotency-Key` never starts',
      'another one: while it is not known whether the provider has the batch, it returns 409 `idempotency_in_progress`.',
    ].join('\n'),
    examples: {
      batch: {
        summary: 'A batch with one request',
        body: {
          requests: [
            {
              custom_id: 'one',
              params: {
                model: 'claude-sonnet-5-5',
                max_tokens: 100,
                messages: [{ role: 'user', content: 'What is a gatehouse?' }],
              },
            },
          ],
        },
        response: example,
      },
    },
  }),
  route('messages.batches.list', 'GET /v1/messages/batches', {
    query: listMessageBatches,
    response: ok(messageBatchList),
    summary: 'List batches of messages, newest first',
    description: 'Lists batches of the same user, or of keys without a user.',
    examples: {
      page: {
        summary: 'One batch',
        response: { data: [example], first_id: id, last_id: id, has_more: false },
      },
    },
  }),
  route('messages.batches.get', 'GET /v1/messages/batches/{message_batch_id}', {
    response: ok(messageBatch),
    summary: 'Get a batch of messages',
    description:
      'As the provider last described it, at most a minute ago. A batch has ended once its cost is recorded.',
    examples: { batch: { summary: 'A batch', params, response: example } },
  }),
  route('messages.batches.results', 'GET /v1/messages/batches/{message_batch_id}/results', {
    response: { status: 200, shape: messageResult, lines: true },
    summary: 'The results of a batch of messages that has ended',
    description: 'In any order: `custom_id` says which request a line is for.',
    examples: { results: { summary: 'One result', params, response: [result] } },
  }),
  route('messages.batches.cancel', 'POST /v1/messages/batches/{message_batch_id}/cancel', {
    response: ok(messageBatch),
    summary: 'Cancel a batch of messages',
    description: 'Requests that have a response by then are charged, and their results can be read.',
    examples: {
      batch: {
        summary: 'A batch is cancelled',
        params,
        response: {
          ...example,
          processing_status: 'canceling',
          cancel_initiated_at: '2026-11-27T08:01:00Z',
        },
      },
    },
  }),
  route('messages.batches.delete', 'DELETE /v1/messages/batches/{message_batch_id}', {
    response: ok(deletedMessageBatch),
    summary: 'Delete a batch of messages that has ended',
    description: 'The batch and the results of the provider are deleted soon afterwards.',
    examples: {
      batch: { summary: 'A batch is deleted', params, response: { id, type: 'message_batch_deleted' } },
    },
  }),
];
