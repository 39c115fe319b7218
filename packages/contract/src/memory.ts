import { z } from 'zod';
import {
  count,
  listOf,
  page,
  searchableRecord,
  storableForm,
  storableText,
  timestamp,
  userId,
  utcTime,
  uuid,
  visibleText,
} from './fields.ts';
import { jsonLines, MiB, noContent, ok, pageOf, routesWith, scope, type Route } from './route.ts';

/** The memory of an agent: `/v1/agents/{agentID}/memory/*`. */

export const maxDocumentBytes = MiB;
export const maxImportBytes = 64 * MiB;

const maxPathLength = 512;

const segment = '(?:[^/.\\x00][^/\\x00]*|\\.[^/.\\x00][^/\\x00]*|\\.\\.[^/\\x00]+)';
/** Without look-ahead, which the patterns of some languages lack. */
export const documentPathPattern = new RegExp(`^${segment}(?:/${segment})*$`);

/** Segments separated by `/`; empty ones, `.` and `..` are rejected. */
export const documentPath = storableForm(
  1,
  maxPathLength,
  documentPathPattern,
  'must have segments separated by /, none of them empty, . or ..',
);

/** A path or its beginning: `notes/` or `notes/2026`. */
const pathPrefix = storableText(1, maxPathLength);

/** The readers of a passage: all callers of the agent, or one user alone. */
export const memoryScope = z.enum(['agent', 'user']);
export type MemoryScope = z.output<typeof memoryScope>;

const sourceKind = z.enum(['api', 'conversation', 'import']);

export const documentSource = z.strictObject({
  kind: sourceKind,
  /** The run behind the document, and its session; null without one. */
  run_id: uuid.nullable(),
  session_id: z.string().nullable(),
});
export type DocumentSource = z.output<typeof documentSource>;

export const document = z.strictObject({
  id: uuid,
  path: z.string(),
  title: z.string().nullable(),
  scope: memoryScope,
  /** The user of a document with the scope `user`. */
  user_id: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  source: documentSource,
  chunks: count.describe('Passages that the document was split into'),
  bytes: count.describe('Size of the text as UTF-8'),
  embedded: z.boolean().describe('Whether semantic search finds all passages of the document'),
  created_at: utcTime,
  updated_at: utcTime,
});
export type Document = z.output<typeof document>;

export const documentWithText = document.extend({ text: z.string() });
export type DocumentWithText = z.output<typeof documentWithText>;
export const documentList = listOf(document);

export const title = storableText(1, 500);

export const putDocument = z.strictObject({
  text: storableText(1, maxDocumentBytes).describe('Markdown or plain text, at most 1 MiB as UTF-8'),
  title: title.nullable().optional(),
  metadata: searchableRecord.optional(),
  scope: memoryScope
    .optional()
    .describe('Default: `user` with an acting user, otherwise `agent`. An acting user writes only `user`'),
});
export type PutDocument = z.output<typeof putDocument>;

export const listDocuments = z.strictObject({ ...page, path_prefix: pathPrefix.optional() });

export const searchMode = z.enum(['hybrid', 'lexical', 'semantic']);
export type SearchMode = z.output<typeof searchMode>;

export const searchMemory = z.strictObject({
  query: visibleText(1, 2_000, 'must not be blank'),
  limit: z.int().min(1).max(50).default(10),
  mode: searchMode.default('hybrid'),
  filter: z
    .strictObject({
      path_prefix: pathPrefix.optional(),
      metadata: searchableRecord.optional().describe('Only documents whose metadata has these members'),
      since: timestamp.optional().describe('Only documents changed at or after this time'),
      until: timestamp.optional().describe('Only documents changed before this time'),
    })
    .default({}),
  min_score: z.number().min(0).max(1).default(0).describe('Leaves out passages with a lower `score`'),
});
export type SearchMemory = z.output<typeof searchMemory>;

export const passage = z.strictObject({
  document_id: uuid,
  path: z.string(),
  title: z.string().nullable(),
  text: z
    .string()
    .describe(
      'Lines of the document, below the heading, the header of a table or the fence of code that they are cut from',
    ),
  start_line: z.int().min(1),
  end_line: z.int().min(1),
  score: z
    .number()
    .min(0)
    .max(1)
    .describe('Relevance of the passage in each mode: 0.9 for one that has each word of the query'),
  scores: z.strictObject({
    lexical: z.number().min(0).max(1).nullable(),
    semantic: z.number().min(0).max(1).nullable(),
  }),
  scope: memoryScope,
  metadata: z.record(z.string(), z.unknown()),
  updated_at: utcTime,
});
export type Passage = z.output<typeof passage>;

export const searchResult = z.strictObject({
  results: z.array(passage),
  mode: searchMode.describe('The mode that answered: `hybrid` becomes `lexical` without an embedding model'),
  took_ms: z.number().min(0),
});

/** At least one field is required, which the handler checks. */
export const forget = z
  .strictObject({
    path_prefix: pathPrefix.optional(),
    run_id: uuid.optional(),
    session_id: storableText(1, 255).optional(),
    user_id: userId.optional(),
  })
  .meta({ minProperties: 1 });
export type Forget = z.output<typeof forget>;

export type SearchResult = z.output<typeof searchResult>;

/** Counts of what an action has removed or added. */
export const memoryCounts = z.strictObject({
  documents: count,
  chunks: count,
  entities: count,
  relations: count,
});
export type MemoryCounts = z.output<typeof memoryCounts>;

export const memoryStats = memoryCounts.extend({
  bytes: count.describe('Bytes of documents that count towards the limit of memory bytes'),
  pending_embeddings: count.describe('Passages that wait for their embedding'),
});
export type MemoryStats = z.output<typeof memoryStats>;

/** A line of an export. Each kind of record has a shape for exports, and one for imports. */
export const exportedRecord = z.discriminatedUnion('kind', [
  documentWithText
    .omit({ id: true, chunks: true, bytes: true, embedded: true })
    .extend({ kind: z.literal('document') }),
]);
export type ExportedRecord = z.output<typeof exportedRecord>;

const importedDocument = z.strictObject({
  kind: z.literal('document'),
  path: documentPath,
  text: storableText(1, maxDocumentBytes).describe('Markdown or plain text, at most 1 MiB as UTF-8'),
  title: title.nullable().default(null),
  metadata: searchableRecord.default({}),
  scope: memoryScope.optional().describe('Default: `user` with a `user_id`, otherwise `agent`'),
  user_id: userId.nullable().default(null).describe('The user of a document with the scope `user`'),
  source: z
    .strictObject({
      kind: sourceKind.default('import'),
      run_id: uuid.nullable().default(null),
      session_id: storableText(1, 255).nullable().default(null),
    })
    .prefault({}),
  created_at: timestamp.optional().describe('Default: now'),
  updated_at: timestamp.optional().describe('Default: now'),
});
export type ImportedDocument = z.output<typeof importedDocument>;

/** A line of an import, as exported; most fields may be left out. */
export const importedRecord = z.discriminatedUnion('kind', [importedDocument]);
export type ImportedRecord = z.output<typeof importedRecord>;

export const maxImportedDocuments = 100_000;

const base = '/v1/agents/{agentID}/memory';
const read = routesWith({ service: 'memory', access: scope('memory.read'), actingUser: true });
const write = routesWith({ service: 'memory', access: scope('memory.write'), actingUser: true });

const params = { agentID: 'support' };
const returnsExample = {
  id: '0198c2b4-11aa-7c3d-9e5f-7a6b5c4d3e2f',
  path: 'policies/returns.md',
  title: 'Returns',
  scope: 'agent',
  user_id: null,
  metadata: { language: 'en' },
  source: { kind: 'api', run_id: null, session_id: null },
  chunks: 1,
  bytes: 63,
  embedded: false,
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};
const returnsText = '# Returns\n\nCustomers may return an item within 30 days of delivery.';
const counts = { documents: 2, chunks: 7, entities: 0, relations: 0 };
const { id: _id, chunks: _chunks, bytes: _bytes, embedded: _embedded, ...exportedFields } = returnsExample;
const exportedExample = { kind: 'document', ...exportedFields, text: returnsText };

export const routes: readonly Route[] = [
  read('memory.documents.list', `GET ${base}/documents`, {
    query: listDocuments,
    response: ok(documentList),
    summary: 'List documents, without their text',
    examples: {
      policies: {
        summary: 'Documents below a path',
        params,
        query: { path_prefix: 'policies/' },
        response: pageOf(returnsExample),
      },
    },
  }),
  write('memory.documents.put', `PUT ${base}/documents/{path+}`, {
    body: putDocument,
    bodyLimit: 4 * MiB,
    response: { status: 201, shape: document, also: 200 },
    summary: 'Create or replace a document',
    description:
      'Returns 201 for a new document and 200 for a replaced one. Search finds the document as soon as the response is sent; `embedded` says whether semantic search does. A document of the agent also needs the scope `agents.write`.',
    examples: {
      returns: {
        summary: 'A page of Markdown for everyone who uses the agent',
        params: { ...params, path: 'policies/returns.md' },
        body: { text: returnsText, title: 'Returns', metadata: { language: 'en' } },
        response: returnsExample,
      },
    },
  }),
  read('memory.documents.get', `GET ${base}/documents/{path+}`, {
    response: ok(documentWithText),
    summary: 'Get a document with its text',
    description: 'If the acting user and the agent both have a document with this path, returns the user’s.',
    examples: {
      returns: {
        summary: 'By its path',
        params: { ...params, path: 'policies/returns.md' },
        response: { ...returnsExample, text: returnsText },
      },
    },
  }),
  write('memory.documents.delete', `DELETE ${base}/documents/{path+}`, {
    response: noContent,
    summary: 'Delete a document',
    examples: { returns: { summary: 'By its path', params: { ...params, path: 'policies/returns.md' } } },
  }),
  read('memory.search', `POST ${base}/search`, {
    body: searchMemory,
    response: ok(searchResult),
    summary: 'Find passages',
    description:
      'Returns the best passages first; several may come from one document. Searches the documents of the agent and, with an acting user, those of that user.',
    examples: {
      returns: {
        summary: 'A question in plain words',
        params,
        body: { query: 'How long can I return something?', limit: 3 },
        response: {
          results: [
            {
              document_id: returnsExample.id,
              path: returnsExample.path,
              title: returnsExample.title,
              text: returnsText,
              start_line: 1,
              end_line: 3,
              score: 0.62,
              scores: { lexical: 0.62, semantic: null },
              scope: 'agent',
              metadata: { language: 'en' },
              updated_at: returnsExample.updated_at,
            },
          ],
          mode: 'lexical',
          took_ms: 3.2,
        },
      },
    },
  }),
  write('memory.forget', `POST ${base}/forget`, {
    body: forget,
    response: ok(memoryCounts),
    summary: 'Remove documents, entities and relations',
    description:
      'Removes what matches all given fields, of which one is required, and returns how much that was. With an acting user, only what belongs to that user. Without one, needs the scope `agents.write`: `user_id` selects what belongs to one user, `run_id` and `session_id` alone what a run or session left for any user, and `path_prefix` alone documents of the agent.',
    examples: {
      session: {
        summary: 'Documents of one session',
        params,
        body: { session_id: 'chat-81' },
        response: counts,
      },
    },
  }),
  read('memory.stats', `GET ${base}/stats`, {
    response: ok(memoryStats),
    summary: 'Count what the memory holds',
    examples: {
      all: { summary: 'Of an agent', params, response: { ...counts, bytes: 8_123, pending_embeddings: 3 } },
    },
  }),
  read('memory.export', `GET ${base}/export`, {
    access: scope('memory.read', 'agents.write'),
    response: { status: 200, shape: exportedRecord, lines: true },
    summary: 'Export the memory as JSON lines',
    description: `Streams one JSON object on each line (\`${jsonLines}\`), ordered by user and path. Returns everything that belongs to the agent and all its users or, with an acting user, what belongs to the agent and that user. A document that is changed meanwhile is exported as before or after the change. An export is complete only if the response ends normally.`,
    examples: { all: { summary: 'Of an agent', params, response: [exportedExample] } },
  }),
  write('memory.import', `POST ${base}/import`, {
    access: scope('memory.write', 'agents.write'),
    idempotencyKey: true,
    bodyLines: importedRecord,
    bodyLimit: maxImportBytes,
    response: ok(memoryCounts),
    summary: 'Import JSON lines into the memory',
    description: `Stores the records of an export (\`${jsonLines}\`, one JSON object on each line, at most ${maxImportedDocuments} documents) and returns how many. They become visible together, or none is stored: a line that is not valid returns 400 with its number. A document replaces the one with the same path, scope and user; other documents stay. With an acting user, all records must belong to that user.`,
    examples: {
      documents: {
        summary: 'A document of an export, and one with the required fields alone',
        params,
        body: [
          exportedExample,
          { kind: 'document', path: 'policies/delivery.md', text: 'We deliver in 3 days.' },
        ],
        response: { documents: 2, chunks: 2, entities: 0, relations: 0 },
      },
    },
  }),
];
