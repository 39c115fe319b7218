import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { parseDocuments, readText, withEnvironment } from '../inputs.ts';
import { UsageError } from '../usage-error.ts';
import { kinds, type Kind } from './kinds.ts';

export type Members = Record<string, unknown>;

/** The things declared by files, by kind, each with members for the API. */
export type Declared = ReadonlyMap<Kind, readonly Members[]>;

/** Reads a file, or all `.yaml`, `.yml` and `.json` files of a folder in the order of their names. */
export async function readDeclared(
  source: string,
  { stdin, environment }: { stdin: Readable; environment: Readonly<Record<string, string | undefined>> },
): Promise<Declared> {
  const declared = new Map<Kind, Members[]>(kinds.map((kind) => [kind, []]));
  for (const file of await filesOf(source)) {
    for (const content of parseDocuments(await readText(file, stdin), file)) addAll(declared, content, file);
  }
  for (const [kind, things] of declared) {
    refuseTwice(kind, things);
    declared.set(
      kind,
      things.map((thing) => withEnvironment(thing, environment) as Members),
    );
  }
  return declared;
}

async function filesOf(source: string): Promise<string[]> {
  if (source === '-') return [source];
  const stats = await stat(source).catch(() => undefined);
  if (stats === undefined) throw new UsageError(`${source} does not exist`);
  if (!stats.isDirectory()) return [source];
  const names = (await readdir(source)).filter((name) => /\.(ya?ml|json)$/.test(name)).toSorted();
  if (names.length === 0) throw new UsageError(`${source} has no .yaml, .yml or .json file`);
  return names.map((name) => path.join(source, name));
}

function addAll(declared: ReadonlyMap<Kind, Members[]>, content: unknown, file: string): void {
  if (content === null || content === undefined) return;
  if (!isMembers(content)) throw new UsageError(`${file} must hold lists by kind: ${names()}`);
  for (const [name, things] of Object.entries(content)) {
    const kind = kinds.find((each) => each.name === name);
    if (kind === undefined) throw new UsageError(`${file}: ${name} is none of ${names()}`);
    if (!Array.isArray(things)) throw new UsageError(`${file}: ${name} must be a list`);
    for (const [at, thing] of things.entries()) {
      const where = `${file}: ${name}[${at}]`;
      if (!isMembers(thing)) throw new UsageError(`${where} must have members`);
      if (typeof thing[kind.identity] !== 'string') throw new UsageError(`${where} has no ${kind.identity}`);
      refuseSecrets(kind, thing, where);
      declared.get(kind)?.push(thing);
    }
  }
}

/** A secret in a file would end in a repository. */
function refuseSecrets(kind: Kind, thing: Members, where: string): void {
  const isSecret = (value: unknown): boolean =>
    typeof value === 'string'
      ? !/^\$\{\w+\}$/.test(value)
      : Object.entries(value ?? {}).some(([name, part]) => !plainMembers.has(name) && isSecret(part));
  for (const name of [...kind.hidden, ...kind.secrets])
    if (thing[name] !== undefined && isSecret(thing[name]))
      throw new UsageError(`${where}: secrets in ${name} come from the environment: write \${NAME}`);
}

/** Hidden members without secrets. */
const plainMembers = new Set([
  'type',
  'url',
  'token_url',
  'client_id',
  'scope',
  'scopes',
  'resource',
  'audience',
  'app_id',
  'oa_id',
  'bot_id',
]);

function refuseTwice(kind: Kind, things: readonly Members[]): void {
  const seen = new Set<unknown>();
  for (const { [kind.identity]: identity } of things) {
    if (seen.has(identity)) throw new UsageError(`${kind.name}: ${String(identity)} is declared twice`);
    seen.add(identity);
  }
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function names(): string {
  return kinds.map(({ name }) => name).join(', ');
}
