import { hash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundledIn } from './bundled.ts';
import { imageFiles, workspacesOf } from './image-files.ts';
import { scriptedInstalls } from './install-scripts.ts';
import { licenceList } from './licences.ts';
import { lockedPackages } from './lock-file.ts';
import { compare, ProductionManifests, reproducible, versionOf, type Component, type Sbom } from './sbom.ts';
import { assertCommitted, commitSeconds, run, stageCommit } from './stage.ts';

/** Run by `make release`: makes `dist/gatehouse-<version>` of the commit. Two runs make the same files. */

const root = path.resolve(import.meta.dirname, '../..');
const version = versionOf(root);
const folder = path.join(root, 'dist', `gatehouse-${version}`);

/** The files that install packages for a release. */
const buildFiles = ['deploy/Dockerfile', 'Makefile'];

assertCommitted(root);
assertNoScripts();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const seconds = commitSeconds(root);
const built = stageCommit(root);
try {
  release();
} finally {
  rmSync(built, { recursive: true });
}

function release(): void {
  say('compiling');
  run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'deploy/tsconfig.image.json'], built);
  const bundles = {
    cli: bundle('packages/cli', built),
    web: bundle('packages/web', path.join(built, 'packages/web')),
  };
  say('packing the command line');
  for (const file of ['package.json', 'dist/gatehouse.js'])
    chmodSync(path.join(built, 'packages/cli', file), 0o644);
  run(
    'npm',
    ['pack', './packages/cli', '--ignore-scripts', '--silent', `--pack-destination=${folder}`],
    built,
  );
  const sboms = writeSboms(bundles);
  write('licences.tsv', licenceList(sboms.flatMap(({ components }) => components)));
  const sums = readdirSync(folder)
    .sort(compare)
    .map((file) => `${hash('sha256', readFileSync(path.join(folder, file)))}  ${file}\n`);
  write('SHA256SUMS', sums.join(''));
  say(`made ${path.relative(root, folder)}; sign SHA256SUMS next: docs/operators/releases.md`);
}

/** Builds a bundle in place, and returns the packages in it. `from`: the start of paths in esbuild's list. */
function bundle(workspace: string, from: string): Component[] {
  say(`building ${workspace}`);
  const metafile = path.join(built, `${path.basename(workspace)}.meta.json`);
  run(process.execPath, [path.join(workspace, 'build.ts'), metafile], built);
  return bundledIn(metafile, from, lockedPackages(built));
}

/** Writes the bill of materials of the command line and of each image. */
function writeSboms({ cli, web }: { cli: Component[]; web: Component[] }): Sbom[] {
  const manifests = new ProductionManifests(root);
  const workspaces = run('git', ['ls-files', '*/package.json'], root)
    .trim()
    .split('\n')
    .map((file) => path.dirname(file))
    .filter((workspace) => /^(proto|packages|services|deploy)/.test(workspace));
  try {
    const empty = manifests.sbomOf('deploy/setup');
    const nothing = { ...empty, components: [], dependencies: [] };
    const sboms = [sbom('cli', nothing, cli)];
    for (const [image, workspace] of images()) {
      say(`listing ${image}`);
      const has = workspacesOf(built, workspace, workspaces);
      const isComposed = image === 'composed';
      const pages = has.includes('packages/web') ? web : [];
      const further = isComposed ? ['packages/cli/package.json', 'packages/cli/dist/gatehouse.js'] : [];
      write(`image-${image}.files.sha256`, imageFiles(built, has, further));
      sboms.push(sbom(`image-${image}`, manifests.sbomOf(workspace), [...pages, ...(isComposed ? cli : [])]));
    }
    return sboms;
  } finally {
    manifests.remove();
  }
}

/** Each image with the folder of its workspace, as `deploy/images.sh` builds them. */
function images(): [string, string][] {
  const services = readdirSync(path.join(root, 'services')).sort(compare);
  const others = ['composed', 'setup'].map((name): [string, string] => [name, `deploy/${name}`]);
  return [...services.map((name): [string, string] => [name, `services/${name}`]), ...others];
}

function sbom(name: string, document: Sbom, further: readonly Component[]): Sbom {
  const made = reproducible(document, { name: `gatehouse-${name}`, version, seconds }, further);
  write(`${name}.cdx.json`, `${JSON.stringify(made, null, 2)}\n`);
  return made;
}

/** Throws if a build would run scripts of packages. */
function assertNoScripts(): void {
  for (const file of buildFiles) {
    const scripted = scriptedInstalls(readFileSync(path.join(root, file), 'utf8'));
    if (scripted.length > 0) throw new Error(`${file} runs scripts of packages: ${scripted.join('\n')}`);
  }
}

function write(name: string, text: string): void {
  writeFileSync(path.join(folder, name), text);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
