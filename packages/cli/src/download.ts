import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { UnreachableError, type ApiClient, type ApiRequest } from './api-client.ts';
import type { Surroundings } from './context.ts';
import { UsageError } from './usage-error.ts';

export interface Target {
  /** The file; standard output if absent or `-`. */
  out: string | undefined;
  surroundings: Pick<Surroundings, 'write' | 'drain'>;
}

/** Downloads may hold personal data. */
const modeOfNew = 0o600;

/**
 * Writes an answer that is a stream of text. A file appears when all of it has come, and one of that name stays until
 * then. Throws `UnreachableError` for an answer that is cut off, and `UsageError` for a file that can't be written.
 */
export async function download(
  client: ApiClient,
  request: ApiRequest,
  { out, surroundings }: Target,
): Promise<void> {
  const send = (): Promise<Response> => client.send(request);
  if (out !== undefined && out !== '-') {
    await writeFile(out, send).catch((error: unknown) => unwritable(out, error));
    return;
  }
  const decoder = new TextDecoder();
  for await (const piece of piecesOf(await send())) {
    surroundings.write(decoder.decode(piece, { stream: true }));
    await surroundings.drain();
  }
}

async function writeFile(out: string, send: () => Promise<Response>): Promise<void> {
  const found = await statOf(out, stat);
  if (found === null && (await statOf(out, lstat)) !== null)
    throw new UsageError(`${out} can't be written: it is a link to a file that does not exist`);
  if (found !== null && (!found.isFile() || isDescriptor(out))) await writeInto(out, send);
  // A link stays, and leads to the new file.
  else if (found !== null) await replace(await realpath(out), found.mode & 0o777, send);
  else await replace(out, modeOfNew, send);
}

async function statOf(file: string, of: (file: string) => Promise<Stats>): Promise<Stats | null> {
  return of(file).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

/** Whether a path leads to a file that a process has open, which another one in its place would not be. */
function isDescriptor(file: string): boolean {
  return /^\/(dev\/(stdout|stderr|fd\/\d+)|proc\/[^/]+\/fd\/\d+)$/.test(file);
}

/** Writes what comes into a device, a pipe or an open file. */
async function writeInto(out: string, send: () => Promise<Response>): Promise<void> {
  // Before the request, so that a wrong name costs no export.
  const file = await open(out, 'a');
  try {
    await file.writeFile(piecesOf(await send()));
  } finally {
    await file.close();
  }
}

async function replace(out: string, mode: number, send: () => Promise<Response>): Promise<void> {
  const part = `${out}.${randomUUID()}.part`;
  const file = await open(part, 'wx', modeOfNew);
  try {
    try {
      await file.writeFile(piecesOf(await send()));
      if (mode !== modeOfNew) await file.chmod(mode);
    } finally {
      await file.close();
    }
    await rename(part, out);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
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
