import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { UnreachableError, type ApiClient, type ApiRequest } from './api-client.ts';
import type { Surroundings } from './context.ts';
import { UsageError } from './usage-error.ts';

export interface Target {
  /** The file; standard output if absent. */
  out: string | undefined;
  surroundings: Pick<Surroundings, 'write' | 'drain'>;
}

/**
 * Writes an answer that is a stream of text. A file appears when all of it has come, and one of that name stays until
 * then. Throws `UnreachableError` for an answer that is cut off, and `UsageError` for a file that can't be written.
 */
export async function download(
  client: ApiClient,
  request: ApiRequest,
  { out, surroundings }: Target,
): Promise<void> {
  if (out !== undefined) {
    await writeWhole(out, () => client.send(request));
    return;
  }
  const decoder = new TextDecoder();
  for await (const piece of piecesOf(await client.send(request))) {
    surroundings.write(decoder.decode(piece, { stream: true }));
    await surroundings.drain();
  }
}

async function writeWhole(out: string, send: () => Promise<Response>): Promise<void> {
  const part = `${out}.${randomUUID()}.part`;
  // Before the request, so that a wrong name costs no export.
  const file = await open(part, 'wx').catch((error: unknown) => unwritable(out, error));
  try {
    try {
      await file.writeFile(piecesOf(await send()));
    } finally {
      await file.close();
    }
    await rename(part, out);
  } catch (error) {
    await rm(part, { force: true });
    return unwritable(out, error);
  }
}

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array, void> {
  if (body === null) return;
  try {
    // Node iterates bodies; the browser's types, by which they are declared here, don't say so.
    for await (const piece of body as unknown as AsyncIterable<Uint8Array>) yield piece;
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new UnreachableError('The answer was cut off before its end. Start again.', { cause: error });
  }
}

/** Errors of the file system become those of the command; others stay. */
function unwritable(out: string, error: unknown): never {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  throw new UsageError(`${out} can't be written: ${code ?? 'it failed'}`);
}
