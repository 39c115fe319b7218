import { readFile, stat } from 'node:fs/promises';
import { CatalogueError } from './catalogue.ts';

/** The text of a file of the catalogue with so many bytes at most. Throws a `CatalogueError` that names the file. */
export async function boundedText(file: string, most: number): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size <= most) return await readFile(file, 'utf8');
    throw new CatalogueError([`${file} has ${size} bytes, and may have ${most} at most`]);
  } catch (error) {
    if (error instanceof CatalogueError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CatalogueError([`${file} can't be read: ${code ?? message}`]);
  }
}
