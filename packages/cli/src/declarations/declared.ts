import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import {
  parseDocuments,
  readText,
  withEnvironment,
  type Environment,
  type ParsedDocument,
} from '../inputs.ts';
import { UsageError } from '../usage-error.ts';
import { kinds, type Kind } from './kinds.ts';
import { withInnerBeside } from './inner-members.ts';
import { isMembers, type Members } from './members.ts';
import { placeIn, placeText, type SourcePlace } from './place.ts';

/** A declared thing. */
export interface Declaration {
  /** Its members for the API, without the hidden ones whose variables are missing. */
  members: Members;
  /** The members as the file has them, with `${NAME}` in place of values of the environment. */
  written: Members;
  /** Missing variables of the environment, by the hidden member with them. */
  missing: ReadonlyMap<string, string>;
  place: SourcePlace;
}

/** The things declared by files, by kind. */
export type Declared = ReadonlyMap<Kind, readonly Declaration[]>;

/**
 * Reads a file, or all `.yaml`, `.yml` and `.json` files of a folder in the order of their names. Throws `UsageError`
 * with every mistake of the declarations, each with its file and line.
 */
export async function readDeclared(
  source: string,
  { stdin, environment }: { stdin: Readable; environment: Environment },
): Promise<Declared> {
  const declared = new Map<Kind, Declaration[]>(kinds.map((kind) => [kind, []]));
  const mistakes: string[] = [];
  for (const file of await filesOf(source)) {
    for (const document of parseDocuments(await readText(file, stdin), file))
      for (const { kind, members, place } of declarationsOf(document, file, mistakes)) {
        const identity = members[kind.identity];
        const first = declared.get(kind)?.find(({ written }) => written[kind.identity] === identity);
        if (first !== undefined)
          mistakes.push(
            `${placeText(place)}: ${kind.name}: ${String(identity)} is declared twice, first at ${placeText(first.place)}`,
          );
        else
          noting(mistakes, () => declared.get(kind)?.push(resolved(kind, members, { place, environment })));
      }
  }
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
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

interface FoundDeclaration {
  kind: Kind;
  members: Members;
  place: SourcePlace;
}

/** The declarations of a document, apart from those with a mistake. */
function declarationsOf(parsed: ParsedDocument, name: string, mistakes: string[]): FoundDeclaration[] {
  const file = name === '-' ? 'standard input' : name;
  const { content } = parsed;
  const at = (...start: string[]): SourcePlace => placeIn({ file, ...parsed }, start);
  if (content === null || content === undefined) return [];
  if (!isMembers(content)) {
    mistakes.push(`${placeText(at())}: it must hold lists by kind: ${names()}`);
    return [];
  }
  return Object.entries(content).flatMap(([list, things]) => {
    const kind = kinds.find((each) => each.name === list);
    if (kind === undefined || !Array.isArray(things)) {
      const mistake = kind === undefined ? `is none of ${names()}` : 'must be a list';
      mistakes.push(`${placeText(at(list))}: ${list} ${mistake}`);
      return [];
    }
    return things.flatMap((thing: unknown, index) => {
      const members = isMembers(thing) ? withInnerBeside(kind, thing) : thing;
      const place = at(list, String(index));
      const mistake = mistakeOf(kind, members);
      if (mistake === null) return [{ kind, members: members as Members, place }];
      mistakes.push(`${placeText(place, mistake.path)}: ${list}[${index}]${mistake.text}`);
      return [];
    });
  });
}

function mistakeOf(kind: Kind, thing: unknown): { text: string; path: string[] } | null {
  if (!isMembers(thing)) return { text: ' must have members', path: [] };
  if (typeof thing[kind.identity] !== 'string') return { text: ` has no ${kind.identity}`, path: [] };
  // A secret in a file would end in a repository.
  const clear = [...kind.hidden, ...kind.secrets].find(
    (name) => thing[name] !== undefined && hasSecret(thing[name]),
  );
  if (clear === undefined) return null;
  const text = `: secrets in ${clear} come from the environment: write \${NAME}`;
  return { text, path: [clear] };
}

function hasSecret(value: unknown): boolean {
  return typeof value === 'string'
    ? !/^\$\{\w+\}$/.test(value)
    : Object.entries(value ?? {}).some(([name, part]) => !plainMembers.has(name) && hasSecret(part));
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

/** The declaration with values of the environment. Hidden members are needed only where they are sent. */
function resolved(
  kind: Kind,
  written: Members,
  { place, environment }: { place: SourcePlace; environment: Environment },
): Declaration {
  const isHidden = new Set([...kind.hidden, ...kind.secrets]);
  const members: Members = {};
  const missing = new Map<string, string>();
  for (const [name, value] of Object.entries(written)) {
    const { value: member, missing: variable } = withEnvironment(value, environment);
    if (variable === undefined) members[name] = member;
    else if (isHidden.has(name)) missing.set(name, variable);
    else
      throw new UsageError(
        `${placeText(place, [name])}: The environment has no ${variable}. For the text itself, write $$\{${variable}}.`,
      );
  }
  return { members, written, missing, place };
}

/** Adds the message of a thrown `UsageError` to `mistakes`. */
function noting(mistakes: string[], work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    mistakes.push(error.message);
  }
}

function names(): string {
  return kinds.map(({ name }) => name).join(', ');
}
