import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { UnreachableError, type ApiClient, type ApiRequest } from './api-client.ts';
import type { Surroundings } from './context.ts';
import { forTerminal } from './output.ts';
import { UsageError } from './usage-error.ts';

export interface DownloadTarget {
  /** The file; standard output if absent or `-`. */
  out: string | undefined;
  surroundings: Pick<Surroundings, 'write' | 'isTerminal' | 'drain'>;
}

/** Downloads may hold personal data. */
const modeOfNew = 0o600;

/** Pieces of text, requested when the first of them is read. */
type Pieces = () => AsyncIterable<Uint8Array>;

/**
 * Writes a streamed text answer. Throws the errors of {@link save}, and `UnreachableError` when the answer is cut off.
 */
export async function download(
  client: ApiClient,
  request: ApiRequest,
  target: DownloadTarget,
): Promise<void> {
  await save(async function* pieces() {
    yield* piecesOf(await client.send(request));
  }, target);
}

/**
 * Writes text piece by piece. A file appears when all of it has come; an existing one of the same name stays until
 * then. Throws `UsageError` for an unwritable file, and the errors of the pieces.
 */
export async function save(pieces: Pieces, { out, surroundings }: DownloadTarget): Promise<void> {
  if (out !== undefined && out !== '-') {
    await writeFile(out, pieces).catch((error: unknown) => unwritable(out, error));
    return;
  }
  const decoder = new TextDecoder();
  for await (const piece of pieces()) {
    const text = decoder.decode(piece, { stream: true });
    // A file and a program get the text as it is; its names may be chosen to steer a terminal.
    surroundings.write(surroundings.isTerminal ? forTerminal(text.replaceAll('\r\n', '\n')) : text);
    await surroundings.drain();
  }
}

async function writeFile(out: string, pieces: Pieces): Promise<void> {
  const existing = await statOf(out, stat);
  if (existing === null && (await statOf(out, lstat)) !== null)
    throw new UsageError(`${out} can't be written: it is a link to a file that does not exist`);
  if (existing !== null && (!existing.isFile() || isDescriptor(out))) await writeInto(out, pieces);
  // A link stays, and leads to the new file.
  else if (existing !== null) await replace(await realpath(out), existing.mode & 0o777, pieces);
  else await replace(out, modeOfNew, pieces);
}

async function statOf(file: string, read: (file: string) => Promise<Stats>): Promise<Stats | null> {
  return read(file).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

/** Whether a path leads to a file held open by a process. Another file in its place would not be open. */
function isDescriptor(file: string): boolean {
  return /^\/(dev\/(stdout|stderr|fd\/\d+)|proc\/[^/]+\/fd\/\d+)$/.test(file);
}

/** Writes what comes into a device, a pipe or an open file. */
async function writeInto(out: string, pieces: Pieces): Promise<void> {
  // Before the request, so a wrong name costs no export.
  const file = await open(out, 'a');
  try {
    await file.writeFile(pieces());
  } finally {
    await file.close();
  }
}

async function replace(out: string, mode: number, pieces: Pieces): Promise<void> {
  const part = `${out}.${randomUUID()}.part`;
  const file = await open(part, 'wx', modeOfNew);
  try {
    try {
      await file.writeFile(pieces());
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

/** The body of an answer. Throws `UnreachableError` when it is cut off. */
export async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array, void> {
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
