import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, stop } from 'esbuild';

const here = import.meta.dirname;
const dist = path.join(here, 'dist');
const assets = path.join(dist, 'assets');

/** The most that a browser loads for the pages, compressed. */
const mostBytes = 200_000;

/**
 * Builds the pages into `dist/`: `index.html`, and one script and one style sheet, each with the hash of its content in
 * its name. Files are replaced one by one, the document last, so gateways may start meanwhile.
 * Returns the compressed size in bytes, and writes esbuild's metafile, which lists what was packed, if it is named. Throws
 * if the size is beyond its limit.
 */
export async function buildPages(metafilePath?: string): Promise<number> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: here,
    entryPoints: ['src/main.tsx', 'src/styles.css'],
    outdir: 'dist/assets',
    entryNames: '[name]-[hash]',
    bundle: true,
    metafile: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'eof',
    logLevel: 'warning',
    write: false,
    // Its service is a child process with memory of its own, which would live as long as `make up`.
  }).finally(() => void stop());
  if (metafilePath !== undefined) await writeFile(metafilePath, JSON.stringify(metafile));
  const size = outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0);
  if (size > mostBytes) throw new Error(`the pages have ${size} bytes compressed, more than ${mostBytes}`);
  await mkdir(assets, { recursive: true });
  for (const { path: file, contents } of outputFiles) await replace(file, contents);
  const names = outputFiles.map(({ path: file }) => path.basename(file));
  const template = await readFile(path.join(here, 'src/index.html'), 'utf8');
  const document = template.replace(/\/app\/assets\/(\w+)\.(\w+)/g, (_, name: string, end: string) => {
    const built = names.find(
      (candidate) => candidate.startsWith(`${name}-`) && candidate.endsWith(`.${end}`),
    );
    if (built === undefined)
      throw new Error(`src/index.html names an asset that is not built: ${name}.${end}`);
    return `/app/assets/${built}`;
  });
  await replace(path.join(dist, 'index.html'), document);
  const outdated = (await readdir(assets)).filter((name) => !names.includes(name));
  await Promise.all(outdated.map((name) => rm(path.join(assets, name), { force: true })));
  return size;
}

async function replace(file: string, content: string | Uint8Array): Promise<void> {
  const fresh = path.join(dist, `${path.basename(file)}.${process.pid}.new`);
  await writeFile(fresh, content);
  await rename(fresh, file);
}

if (import.meta.main)
  process.stdout.write(`pages: ${await buildPages(process.argv[2])} of ${mostBytes} bytes, compressed\n`);
