import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { runCli } from '../../packages/cli/src/cli.ts';
import { operationsOf, type OpenApiDocument } from '../../packages/cli/src/operations.ts';

const document = path.join(import.meta.dirname, '../../packages/contract/openapi.json');
const operations = operationsOf(JSON.parse(readFileSync(document, 'utf8')) as OpenApiDocument);

export interface Ran {
  code: number;
  out: string;
  error: string;
}

export interface RunSettings {
  input?: string;
  environment?: Record<string, string>;
  signal?: AbortSignal;
  /** Is called with all that was written so far. */
  onWrite?: (out: string) => void;
  open?: (url: string) => void;
  /** The answer of the person; by default there is none. */
  confirm?: (question: string) => boolean;
}

/** The command line of one person, with a folder of its own for profiles. */
export class CommandLine {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<CommandLine> {
    return new CommandLine(await mkdtemp(path.join(tmpdir(), 'gatehouse-cli-')));
  }

  get profiles(): string {
    return path.join(this.folder, 'gatehouse/profiles.json');
  }

  async run(line: readonly string[], settings: RunSettings = {}): Promise<Ran> {
    const { input = '', environment = {}, onWrite, open = () => undefined, confirm } = settings;
    let [out, error] = ['', ''];
    const code = await runCli({
      ...{ words: line, operations, version: 'test', open },
      environment: { XDG_CONFIG_HOME: this.folder, ...environment },
      stdin: Readable.from([input]),
      write: (text) => {
        out += text;
        onWrite?.(out);
      },
      confirm: (question) => Promise.resolve(confirm?.(question) ?? null),
      isTerminal: false,
      drain: () => Promise.resolve(),
      writeError: (text) => (error += text),
      signal: settings.signal ?? new AbortController().signal,
    });
    return { code, out, error };
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}
