/** How the rows of a table are copied to another tenant. */
export interface Copied {
  part: 'scope_id' | 'graph_id';
  /** The columns by which rows are read in order, with their types. */
  key: readonly [column: string, type: string][];
  /** The most rows of a batch, to keep it at a few megabytes. */
  limit: number;
  /** Columns copied unchanged. */
  same: readonly string[];
  /** Columns with ids, which copies get anew. */
  ids: readonly string[];
  /** Whether rows name their run, which copies forget: runs stay with the source. */
  hasRuns: boolean;
  /** The sum of a batch: tokens of chunks, and of others the bytes counted towards the limit. */
  amount: string;
}

const byId: Copied['key'] = [['id', 'uuid']];
const byNumber: Copied['key'] = [['number', 'integer']];
const times = ['created_at', 'updated_at', 'acted_at'] as const;

export const copied = {
  documents: {
    ...{
      part: 'scope_id',
      key: byId,
      limit: 200,
      ids: ['id'],
      hasRuns: true,
      amount: 'bytes + coalesce(extra, 0)',
    },
    same: [
      ...[
        'path',
        'title',
        'metadata',
        'source_kind',
        'session_id',
        'text',
        'bytes',
        'chunks',
        'embedded_by',
        'extra',
      ],
      ...times,
    ],
  },
  chunks: {
    ...{
      part: 'scope_id',
      key: byNumber,
      limit: 500,
      ids: ['document_id'],
      hasRuns: false,
      amount: 'length',
    },
    same: ['number', 'start_line', 'end_line', 'context', 'text', 'analyser', 'length', 'terms', 'counts'],
  },
  postings: {
    ...{ part: 'scope_id', limit: 2_000, ids: [], hasRuns: false, amount: '0' },
    key: [
      ['term', 'bigint'],
      ['block', 'integer'],
    ],
    same: ['term', 'block', 'entries'],
  },
  embeddings: {
    ...{ part: 'scope_id', key: byNumber, limit: 100, ids: [], hasRuns: false, amount: '0' },
    same: ['number', 'model', 'vector', 'sketch'],
  },
  entities: {
    ...{ part: 'graph_id', key: byId, limit: 200, ids: ['id'], hasRuns: true, amount: 'coalesce(size, 0)' },
    same: [
      ...['external_id', 'name', 'type', 'name_key', 'type_key', 'description', 'properties', 'size'],
      ...times,
    ],
  },
  relations: {
    ...{
      part: 'graph_id',
      key: byId,
      limit: 300,
      ids: ['id', 'source_id', 'target_id'],
      hasRuns: true,
      amount: 'coalesce(size, 0)',
    },
    same: ['type', 'weight', 'properties', 'valid_from', 'valid_to', 'size', ...times],
  },
} as const satisfies Record<string, Copied>;
export type PartTable = keyof typeof copied;
