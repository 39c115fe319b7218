import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isDate } from 'node:util/types';
import { storeFiles } from '../../lint/store-files.ts';

/** A value as it is sent: text, null, or bytes as base64. */
export type SentValue = string | null | { base64: string };

export interface SentStatement {
  text: string;
  /** Null when they are too large to keep. */
  values: readonly SentValue[] | null;
}

/** A statement of a service as a test made it send it. */
export interface StatementSample extends SentStatement {
  /** The role of the session: `<service>_app` or `<service>_system`. */
  role: string;
  /** Start-up settings of the session that decide about plans, as `name=value`. */
  startUp: readonly string[];
  /** Statements before it that set something until the end of the transaction. */
  settings: readonly SentStatement[];
}

type Runs = 'full' | 'partial';

const root = path.join(import.meta.dirname, '../..');
const cache = path.join(root, 'node_modules/.cache/statements');
const variable = 'GATEHOUSE_STATEMENTS';
const completeFile = 'complete';
/** Samples are for plans, which don't depend on the end of a long text. */
const maxValuesLength = 20_000;
/** The end of the name of a sample without values: it counts only where no test sent smaller ones. */
const largeSuffix = '.large.json';

/** Starts the record of a run. The one of a full run replaces that of the full run before. */
export function startRecord(runs: Runs): void {
  const folder = path.join(cache, runs);
  if (runs === 'full') rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  process.env[variable] = folder;
}

/** Says that the record which `startRecord` began has every statement of all tests. */
export function completeRecord(): void {
  const folder = process.env[variable];
  if (folder === path.join(cache, 'full')) writeFileSync(path.join(folder, completeFile), stateOfStores());
}

/** The record of a full run. Throws when there is none of the stores as they are. */
export function fullRecord(folder = path.join(cache, 'full')): StatementSample[] {
  let state: string;
  try {
    state = readFileSync(path.join(folder, completeFile), 'utf8');
  } catch {
    throw new Error('there is no record of a whole `make test`, which the audit reads: run that first');
  }
  if (state !== stateOfStores())
    throw new Error(
      'stores or migrations have changed since `make test` recorded their statements: run it again',
    );
  return samplesIn(folder);
}

/** The records of partial runs. */
export function partialRecord(): StatementSample[] {
  return samplesIn(path.join(cache, 'partial'));
}

/** The samples of a record: of each kind one, with values if any were kept. */
export function samplesIn(folder: string): StatementSample[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .filter((name, _, names) => !name.endsWith(largeSuffix) || !names.includes(smallOf(name)))
    .map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as StatementSample);
}

/** The file of the same statement with the same kinds of values, small enough to keep. */
const smallOf = (name: string): string => `${name.slice(0, -largeSuffix.length)}.json`;

function stateOfStores(): string {
  const hash = createHash('sha256');
  for (const file of [
    ...storeFiles(root),
    ...globSync('services/*/migrations/**/*.sql', { cwd: root }).sort(),
  ])
    hash.update(`${file}\0`).update(readFileSync(path.join(root, file)));
  return hash.digest('hex');
}

interface Session {
  role: string;
  startUp: readonly string[];
  settings: readonly { text: string; values: readonly unknown[] }[];
}

/** Keeps one sample of each statement for each kind of its values, as a file that no other worker has written. */
export class StatementRecord {
  readonly #folder: string;
  /** By statement, then by kind: whether its values were small enough to keep. */
  readonly #known = new Map<string, Map<string, boolean>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined when this run records nothing. */
  static ofThisRun(): StatementRecord | undefined {
    const folder = process.env[variable];
    return folder === undefined ? undefined : new StatementRecord(folder);
  }

  add(session: Session, text: string, values: readonly unknown[]): void {
    const { role, startUp, settings } = session;
    const kind = [role, ...startUp, ...settings.map((each) => each.text), ...values.map(kindOf)].join('\0');
    const kinds = this.#known.get(text) ?? new Map<string, boolean>();
    if (kinds.get(kind) === true) return;
    this.#known.set(text, kinds);
    const sample: StatementSample = {
      ...sent({ text, values }),
      ...{ role, startUp, settings: settings.map(sent) },
    };
    const isKept = sample.values !== null;
    if (kinds.get(kind) === isKept) return;
    kinds.set(kind, isKept);
    const name = createHash('sha256').update(`${kind}\0${text}`).digest('hex').slice(0, 32);
    try {
      writeFileSync(
        path.join(this.#folder, `${name}${isKept ? '.json' : largeSuffix}`),
        JSON.stringify(sample),
        { flag: 'wx' },
      );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** The properties of a value that change which plan is best: a condition on null or true is no condition. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'empty' : 'array';
  return 'value';
}

function sent({ text, values }: { text: string; values: readonly unknown[] }): SentStatement {
  const prepared = values.map(sentValue);
  return { text, values: JSON.stringify(prepared).length > maxValuesLength ? null : prepared };
}

/** As pg sends it. */
function sentValue(value: unknown): SentValue {
  if (value === null || value === undefined) return null;
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    return { base64: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
  }
  if (isDate(value)) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map(elementOf).join()}}`;
  return typeof value === 'object' ? JSON.stringify(value) : (value as number | string).toString();
}

function elementOf(value: unknown): string {
  const text = sentValue(value);
  if (text === null) return 'NULL';
  if (typeof text === 'object') return `"\\\\x${Buffer.from(text.base64, 'base64').toString('hex')}"`;
  return Array.isArray(value) ? text : `"${text.replace(/[\\"]/g, '\\$&')}"`;
}
