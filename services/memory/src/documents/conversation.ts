import { createHash } from 'node:crypto';
import type { NewDocument } from './document.ts';
import { splitPlain } from './split-markdown.ts';

/** A finished turn of a user with an agent. */
export interface FinishedTurn {
  userId: string;
  sessionId: string | null;
  runId: string;
  input: string;
  output: string;
  /** Refused if the data of the user were deleted later. */
  startedAt: Date;
}

/** A longer turn is cut: what matters for recall is at the beginning. */
const maxChars = 32_000;

/**
 * The document of a turn. Its path follows from the session and the text, so a turn repeated in one session is stored
 * once.
 */
export function documentOf({
  userId,
  sessionId,
  runId,
  input,
  output,
  startedAt,
}: FinishedTurn): NewDocument {
  const text = `User: ${storable(input)}\n\nAssistant: ${storable(output)}`;
  return {
    path: `conversations/${sessionId === null ? 'single' : digest(sessionId)}/${digest(text)}`,
    userId,
    title: null,
    metadata: {},
    source: { kind: 'conversation', run_id: runId, session_id: sessionId },
    text,
    passages: splitPlain(text),
    at: startedAt,
  };
}

function storable(text: string): string {
  return text.slice(0, maxChars).toWellFormed().replaceAll('\0', '\ufffd');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
