import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * A step of `make lint`: reports imports of other workspaces that the `package.json` of the importing one does not
 * declare. npm links all workspaces here, so such an import fails only in an image, which has the declared ones alone.
 */

interface Manifest {
  name: string;
  /** Present in a program packed into one file, which then depends on nothing. */
  bin?: object;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const root = path.join(import.meta.dirname, '..');

/** Imports of undeclared workspaces by the files that an image holds, one sentence each. */
function undeclared(manifestFile: string): string[] {
  const folder = path.dirname(manifestFile);
  const manifest = JSON.parse(readFileSync(path.join(root, manifestFile), 'utf8')) as Manifest;
  const { name, bin, devDependencies } = manifest;
  const dependencies = { ...manifest.dependencies, ...(bin !== undefined && devDependencies) };
  return globSync(`${folder}/src/**/*.{ts,tsx}`, { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const text = readFileSync(path.join(root, file), 'utf8');
      const imported = [...text.matchAll(/\bfrom '(@gatehouse\/[\w-]+)/g)].map(
        ([, workspace = '']) => workspace,
      );
      return [...new Set(imported)]
        .filter((workspace) => workspace !== name && !(workspace in dependencies))
        .map((workspace) => `${file} imports ${workspace}, which ${manifestFile} does not declare`);
    });
}

const problems = globSync('{packages,services,deploy}/*/package.json', { cwd: root }).flatMap(undeclared);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
