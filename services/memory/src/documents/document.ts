import { createHash } from 'node:crypto';
import { maxDocumentBytes, type Document, type DocumentSource } from '@gatehouse/contract/memory';
import { AppError } from '@gatehouse/kit/errors';
import { agentScope } from '../shared/memory-key.ts';
import type { Passage } from './split-markdown.ts';

/** A document as stored, without its text. */
export interface StoredDocument {
  id: string;
  path: string;
  title: string | null;
  /** '' for a document of the agent. */
  userId: string;
  metadata: Record<string, unknown>;
  source: DocumentSource;
  chunks: number;
  bytes: number;
  embedded: boolean;
  createdAt: Date;
  updatedAt: Date;
}

/** A document to store, split into passages. */
export interface NewDocument {
  path: string;
  userId: string;
  title: string | null;
  metadata: Record<string, unknown>;
  source: DocumentSource;
  text: string;
  passages: readonly Passage[];
  /** When it was sent or said: refused if the data of its user were deleted since. */
  at: Date;
  /** RFC 3339; default: now, but a replaced document keeps its time of creation. */
  createdAt?: string | undefined;
  updatedAt?: string | undefined;
}

/** The bytes a document counts towards the limit of its tenant: everything given. */
export function sizeOf({ text, path, title, metadata, userId, source }: NewDocument): number {
  const texts = [text, path, title ?? '', userId, source.session_id ?? ''];
  const json = JSON.stringify(metadata);
  if (json !== '{}') texts.push(json);
  return texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
}

const maxMetadataBytes = 64 * 1024;

/** Throws for too large a text or metadata. */
export function assertFits(text: string, metadata: object): void {
  if (Buffer.byteLength(text) > maxDocumentBytes)
    throw new AppError(
      'payload_too_large',
      `text must not be larger than ${maxDocumentBytes} bytes as UTF-8.`,
      {
        param: 'text',
      },
    );
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes)
    throw new AppError(
      'invalid_value',
      `metadata must not be larger than ${maxMetadataBytes} bytes of JSON.`,
      {
        param: 'metadata',
      },
    );
}

export function showDocument({
  id,
  path,
  title,
  userId,
  createdAt,
  updatedAt,
  ...document
}: StoredDocument): Document {
  return {
    id,
    path,
    title,
    scope: userId === agentScope ? 'agent' : 'user',
    user_id: userId === agentScope ? null : userId,
    ...document,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

/** How the audit log names a document: without its path and title, which are the tenant's own. */
export function auditView(document: StoredDocument): object {
  const { id, path, bytes, chunks, metadata } = showDocument(document);
  const digest = createHash('sha256').update(path).digest('hex');
  return { id, path_sha256: digest, bytes, chunks, metadata_members: Object.keys(metadata).length };
}
