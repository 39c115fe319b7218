import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ExportedRecord, ImportedRecord, MemoryCounts } from '@gatehouse/contract/memory';
import { exportedRecord, memoryCounts } from '@gatehouse/contract/memory';
import type { ErrorBody } from '@gatehouse/kit/errors';
import type { As } from '@gatehouse/test/service-under-test';
import type { MemoryServiceUnderTest, TestTenant } from './memory-service.ts';

/** The answer to an import: counts, or an error. */
export interface ImportAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  counts: MemoryCounts | null;
  error: ErrorBody['error'] | null;
}

/** A line of an import: a record with the required fields at least, or any text. */
export type ImportLine = (Partial<ImportedRecord> & { path: string; text: string }) | string;

export interface ImportOptions {
  as?: As;
  port?: number;
  headers?: Record<string, string>;
}

/** An import whose body a test sends piece by piece. */
export interface OpenImport {
  send(lines: readonly ImportLine[]): Promise<void>;
  end(): void;
  /** Breaks the connection. */
  abort(): void;
  answer: Promise<ImportAnswer>;
}

/** Exports and imports of a service under test. */
export class MovingClient {
  readonly #memory: MemoryServiceUnderTest;

  constructor(memory: MemoryServiceUnderTest) {
    this.#memory = memory;
  }

  async import(
    tenant: TestTenant,
    lines: readonly ImportLine[],
    options: ImportOptions = {},
  ): Promise<ImportAnswer> {
    const open = await this.open(tenant, options);
    const sent = open.send(lines).then(() => open.end());
    const answer = await open.answer;
    await sent.catch(() => undefined);
    return answer;
  }

  async open(
    tenant: TestTenant,
    { as = tenant.admin, port, headers = {} }: ImportOptions = {},
  ): Promise<OpenImport> {
    const outgoing = request({
      method: 'POST',
      host: '127.0.0.1',
      port: port ?? this.#memory.service.httpPort,
      path: `${tenant.base}/memory/import`,
      headers: {
        'x-gatehouse-assertion': await this.#memory.identity.assertion(as),
        'content-type': 'application/x-ndjson',
        ...headers,
      },
    });
    const answer = new Promise<ImportAnswer>((resolve, reject) => {
      outgoing
        .on('error', reject)
        .on('response', (response) => void readAnswer(response).then(resolve, reject));
    });
    answer.catch(() => undefined);
    outgoing.flushHeaders();
    return {
      answer,
      end: () => void outgoing.end(),
      abort: () => void outgoing.destroy(),
      send: async (lines) => {
        for (const line of lines) {
          if (outgoing.write(`${lineOf(line)}\n`)) continue;
          const waiting = new AbortController();
          const { signal } = waiting;
          await Promise.race(['drain', 'close'].map((event) => once(outgoing, event, { signal })));
          // Else each wait would leave a listener behind.
          waiting.abort();
        }
      },
    };
  }

  /** The response to an export, unread. */
  async openExport(tenant: TestTenant, as: As = tenant.admin): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#memory.service.httpPort}${tenant.base}/memory/export`, {
      headers: { 'x-gatehouse-assertion': await this.#memory.identity.assertion(as) },
    });
  }

  async export(tenant: TestTenant, as: As = tenant.admin): Promise<ExportedRecord[]> {
    const response = await this.openExport(tenant, as);
    if (response.status !== 200) throw new Error(await response.text());
    return recordsOf(await response.text());
  }
}

export function recordsOf(body: string): ExportedRecord[] {
  return body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => exportedRecord.parse(JSON.parse(line)));
}

function lineOf(line: ImportLine): string {
  return typeof line === 'string' ? line : JSON.stringify({ kind: 'document', ...line });
}

async function readAnswer(response: IncomingMessage): Promise<ImportAnswer> {
  const body = JSON.parse(await text(response)) as ErrorBody;
  const status = response.statusCode ?? 0;
  const { headers } = response;
  return status === 200
    ? { status, headers, counts: memoryCounts.parse(body), error: null }
    : { status, headers, counts: null, error: body.error };
}

/** Documents of some text, each found by its own word: `word7`. */
export function manyDocuments(
  count: number,
  { prefix = 'doc', about = '' } = {},
): { path: string; text: string }[] {
  return Array.from({ length: count }, (_, n) => ({
    path: `${prefix}/${String(n).padStart(5, '0')}`,
    text: `# About word${n}\n\n${about} ${'Some words that fill the passage. '.repeat(20)}`,
  }));
}
