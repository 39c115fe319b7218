import { open, readFile, rename } from 'node:fs/promises';

/** Writes a file atomically and durably, readable by its owner only. */
export async function writePrivateJson(file: string, value: unknown): Promise<void> {
  const unfinished = `${file}.${process.pid}.unfinished`;
  const handle = await open(unfinished, 'w', 0o600);
  try {
    // `open` applies the mode only to a new file.
    await handle.chmod(0o600);
    await handle.writeFile(`${JSON.stringify(value, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, file);
}

/**
 * Returns the parsed file, or undefined if it does not exist. Throws an error with the name of the file if it is not
 * JSON.
 */
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
