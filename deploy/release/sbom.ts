import { hash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LockedPackage } from './lock-file.ts';
import { run } from './stage.ts';

/** A component of a CycloneDX document, as `npm sbom` writes it. */
export interface Component {
  'bom-ref': string;
  type: string;
  name: string;
  version: string;
  purl?: string;
  hashes?: { alg: string; content: string }[];
  licenses?: ({ license: { id?: string; name?: string } } | { expression: string })[];
}

/** A bill of materials in the form of CycloneDX 1.5. */
export interface Sbom {
  bomFormat: string;
  specVersion: string;
  serialNumber: string;
  version: number;
  metadata: { timestamp: string; component: Component; [other: string]: unknown };
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

/** Identity of a bill of materials: its subject, and its time in seconds. */
export interface SbomSubject {
  name: string;
  version: string;
  seconds: number;
}

/**
 * Bills of materials of workspaces without their development dependencies, from the lock file alone: the packages
 * an image installs. As images do, `production-only.ts` first removes development dependencies from all manifests.
 */
export class ProductionManifests {
  readonly #folder: string;

  constructor(root: string) {
    this.#folder = mkdtempSync(path.join(tmpdir(), 'gatehouse-manifests-'));
    const manifests = run('git', ['ls-files', '*package.json', 'package-lock.json'], root).trim().split('\n');
    for (const file of manifests) cpSync(path.join(root, file), path.join(this.#folder, file));
    run(process.execPath, [path.join(root, 'deploy/production-only.ts')], this.#folder);
  }

  /** The document of `npm sbom` for a workspace, which has the time and a random number. */
  sbomOf(workspace: string): Sbom {
    const flags = [
      '--sbom-format=cyclonedx',
      '--omit=dev',
      '--package-lock-only',
      `--workspace=${workspace}`,
    ];
    return JSON.parse(run('npm', ['sbom', ...flags], this.#folder)) as Sbom;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/**
 * The same document for every build of a commit: about `subject`, with further components, sorted, and without
 * workspaces. Workspaces have names that others use in the public registry, under which scanners would look for them.
 */
export function reproducible(sbom: Sbom, subject: SbomSubject, further: readonly Component[] = []): Sbom {
  const installed = sbom.components.filter(({ hashes = [] }) => hashes.length > 0);
  const known = new Map([...installed, ...further].map((component) => [component['bom-ref'], component]));
  const components = [...known.values()].sort((a, b) => compare(a['bom-ref'], b['bom-ref']));
  const root = rootOf(subject);
  const edges = new Map(
    sbom.dependencies
      .filter(({ ref }) => known.has(ref))
      .map(({ ref, dependsOn = [] }) => [ref, dependsOn.filter((on) => known.has(on)).sort(compare)]),
  ).set(root['bom-ref'], [...known.keys()].sort(compare));
  const dependencies = [...edges]
    .map(([ref, dependsOn]) => ({ ref, dependsOn }))
    .sort((a, b) => compare(a.ref, b.ref));
  const timestamp = new Date(subject.seconds * 1_000).toISOString();
  const metadata = { ...sbom.metadata, timestamp, component: root };
  const document = { ...sbom, metadata, components, dependencies, serialNumber: '' };
  return { ...document, serialNumber: serialOf(JSON.stringify(document)) };
}

/** The image or package itself, which no public registry has. */
function rootOf({ name, version }: SbomSubject): Component {
  const licenses = [licenceEntry('Apache-2.0')];
  return { 'bom-ref': `${name}@${version}`, type: 'application', name, version, licenses };
}

/** A component for a package of the lock file. */
export function componentOf(name: string, { version, license, integrity }: LockedPackage): Component {
  const [algorithm = '', digest = ''] = integrity?.split('-') ?? [];
  const content = Buffer.from(digest, 'base64').toString('hex');
  return {
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(integrity === undefined ? {} : { hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content }] }),
    ...(license === undefined ? {} : { licenses: [licenceEntry(license)] }),
  };
}

function licenceEntry(license: string): NonNullable<Component['licenses']>[number] {
  return license.includes(' ') ? { expression: license } : { license: { id: license } };
}

/** A name-based UUID (RFC 9562, version 8) of a document. */
function serialOf(text: string): string {
  const hex = hash('sha256', text);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
  ];
  return `urn:uuid:${parts.join('-')}-${hex.slice(20, 32)}`;
}

/** The version in a workspace's manifest. */
export function versionOf(root: string, workspace = '.'): string {
  const text = readFileSync(path.join(root, workspace, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Order of texts by their code units, which no locale changes. */
export function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
