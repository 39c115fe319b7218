import { z } from 'zod';
import { MiB, ok, routesWith, scope, type Route } from './route.ts';

/** Files with the requests and the results of batches, in the shape of OpenAI's API: `/v1/files*`. */

/** Ids of files and batches are opaque. */
export const objectId = z.string().min(1).max(64);

/** A page in the shape of OpenAI's lists. */
export const objectList = <Item extends z.ZodType>(item: Item) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });

/** A page with one object, for examples. */
export const pageOfOne = <Item extends { id: string }>(item: Item) => ({
  ...{ object: 'list' as const, data: [item] },
  ...{ first_id: item.id, last_id: item.id, has_more: false },
});

export const file = z
  .looseObject({
    id: z.string(),
    object: z.literal('file'),
    bytes: z.int().describe('Size of the file at the provider'),
    created_at: z.int().describe('Unix time in seconds'),
    filename: z.string(),
    purpose: z.string().describe('`batch` for requests, `batch_output` for results'),
    expires_at: z.int().nullish().describe('Unix time in seconds; absent without `expires_after`'),
  })
  .describe('Other members are those of the provider.');

/** As OpenAI's files have it: https://platform.openai.com/docs/api-reference/files/create */
export const expiresAfter = z.strictObject({
  anchor: z.literal('created_at'),
  seconds: z.coerce.number().int().min(3_600).max(2_592_000),
});

export const uploadFile = z.strictObject({
  purpose: z.literal('batch'),
  expires_after: expiresAfter
    .optional()
    .describe(
      'When the file expires: as JSON, or as the fields `expires_after[anchor]` and `expires_after[seconds]`',
    ),
  file: z
    .string()
    .max(200 * MiB)
    .describe(
      'JSON lines, each with `custom_id`, `method`, `url` and `body`: at most 50,000, of 8 MiB at most',
    )
    .meta({ contentMediaType: 'application/octet-stream' }),
});

export const listFiles = z.strictObject({
  after: objectId.optional().describe('The id of the file before the page'),
  limit: z.coerce.number().int().min(1).max(10_000).default(100),
  order: z.enum(['asc', 'desc']).default('desc'),
  purpose: z.string().max(64).optional(),
});
export type ListFiles = z.output<typeof listFiles>;

export const fileList = objectList(file);

export const deletedFile = z.object({
  id: z.string(),
  object: z.literal('file'),
  deleted: z.literal(true),
});

export const fileLine = z.looseObject({
  custom_id: z.string().optional(),
});

const example = {
  id: 'file-0198c2f36d2a7e418b072f9c4a1d5e63',
  object: 'file' as const,
  bytes: 196,
  created_at: 1_790_000_000,
  filename: 'requests.jsonl',
  purpose: 'batch',
  status: 'processed',
};

const request = {
  custom_id: 'one',
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model: 'gpt-4.1-mini', messages: [{ role: 'user', content: 'What is a gatehouse?' }] },
};

const route = routesWith({ service: 'chat', access: scope('chat'), actingUser: true });
const params = { file_id: example.id };

export const routes: readonly Route[] = [
  route('files.create', 'POST /v1/files', {
    bodyForm: uploadFile,
    bodyLimit: 200 * MiB,
    response: ok(file),
    idempotencyKey: true,
    summary: "Upload the requests of a batch, as OpenAI's API has it",
    description: [
      'Each line is checked as it arrives: its `custom_id`, which no other line has; its `method`, `POST`; its `url`,',
      '`/v1/chat/completions`, `/v1/embeddings` or `/v1/responses`; and its `body`, whose `model` must be the same in all',
      'lines. The model decides the provider, which gets the file. If a line is refused, nothing is stored. A repeat with',
      'the same `Idempotency-Key` is compared by the name and the bytes of the file and by `expires_after`, and not by the',
      'boundary of the form. It is answered once all of the file has arrived.',
    ].join('\n'),
    examples: {
      requests: {
        summary: 'A file with one request',
        body: { purpose: 'batch', file: `${JSON.stringify(request)}\n` },
        response: example,
      },
    },
  }),
  route('files.list', 'GET /v1/files', {
    query: listFiles,
    response: ok(fileList),
    summary: 'List files of batches',
    description: 'Lists files of the same user, or of keys without a user.',
    examples: { page: { summary: 'One file', response: pageOfOne(example) } },
  }),
  route('files.get', 'GET /v1/files/{file_id}', {
    response: ok(file),
    summary: 'Get a file',
    examples: { file: { summary: 'A file', params, response: example } },
  }),
  route('files.delete', 'DELETE /v1/files/{file_id}', {
    response: ok(deletedFile),
    summary: 'Delete a file',
    description: 'The file of the provider is deleted soon afterwards.',
    examples: {
      file: {
        summary: 'A file is deleted',
        params,
        response: { id: example.id, object: 'file', deleted: true },
      },
    },
  }),
  route('files.content', 'GET /v1/files/{file_id}/content', {
    response: { status: 200, shape: fileLine, lines: true },
    summary: 'The lines of a file',
    description: 'Returns the bytes that the provider has.',
    examples: { requests: { summary: 'One request', params, response: [request] } },
  }),
];
