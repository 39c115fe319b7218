import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { Catalogue, CatalogueError, interpolate } from './catalogue.ts';

/** Reads the catalogue of `GATEHOUSE_MODELS`. Throws one readable error that names the file and every problem. */
export async function loadCatalogue(
  file: string,
  environment: Record<string, string | undefined>,
): Promise<Catalogue> {
  const text = await readFile(file, 'utf8');
  try {
    return Catalogue.parse(parse(interpolate(text, environment)));
  } catch (error) {
    if (error instanceof CatalogueError) throw error;
    throw new CatalogueError([`${file} is not valid YAML: ${(error as Error).message}`]);
  }
}
