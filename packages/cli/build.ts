import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';
import { operationsOf, type OpenApiDocument } from './src/operations.ts';

/**
 * Packs the command line into one file without dependencies, which runs on Node 20. An argument names a file for
 * esbuild's metafile, which lists what was packed.
 */

const here = import.meta.dirname;
const document = JSON.parse(
  await readFile(path.join(here, '../contract/openapi.json'), 'utf8'),
) as OpenApiDocument;

const { metafile } = await build({
  entryPoints: [path.join(here, 'src/main.ts')],
  outfile: path.join(here, 'dist/gatehouse.js'),
  bundle: true,
  metafile: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  minifySyntax: true,
  legalComments: 'eof',
  banner: {
    js: '#!/usr/bin/env node\nimport { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
  define: { __VERSION__: JSON.stringify(await versionOf(path.join(here, 'package.json'))) },
  plugins: [
    {
      name: 'operations as a list',
      setup: (bundle) => {
        bundle.onLoad({ filter: /known-operations\.ts$/ }, () => ({
          contents: `export const operations = ${JSON.stringify(operationsOf(document))};`,
        }));
      },
    },
  ],
});

const [, , metafilePath] = process.argv;
if (metafilePath !== undefined) await writeFile(metafilePath, JSON.stringify(metafile));

async function versionOf(file: string): Promise<string> {
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
}
