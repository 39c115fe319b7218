import { open, readFile, rename } from 'node:fs/promises';

/** Writes a file that only its owner may read, wholly or not at all, and durably. */
export async function writePrivateJson(file: string, value: unknown): Promise<void> {
  const unfinished = `${file}.${process.pid}.unfinished`;
  const handle = await open(unfinished, 'w', 0o600);
  try {
    // The mode above counts only for a file that is new.
    await handle.chmod(0o600);
    await handle.writeFile(`${JSON.stringify(value, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, file);
}

/** The parsed file, or undefined where there is none. Throws on anything that isn't JSON, naming the file. */
export async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not valid JSON.`, { cause: error });
  }
}
