import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ApiClient, ApiError, UnreachableError } from './api-client.ts';
import { download } from './download.ts';
import { UsageError } from './usage-error.ts';

let folder: string;
let file: string;
let server: Server | undefined;
let written: string;
let drains: number;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'download-'));
  file = path.join(folder, 'costs.csv');
  written = '';
  drains = 0;
});
afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  await rm(folder, { recursive: true });
});

const surroundings = {
  write: (text: string) => {
    written += text;
  },
  drain: () => {
    drains += 1;
    return Promise.resolve();
  },
};

async function from(answer: RequestListener, out?: string, signal?: AbortSignal): Promise<void> {
  server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const request = { method: 'GET', path: '/v1/costs/export', ...(signal !== undefined && { signal }) };
  await download(new ApiClient({ url, key: 'k' }, 'test'), request, { out, surroundings });
}

const whole: RequestListener = (_request, response) => {
  response.write('day,cost\n2026-11-01,');
  response.end('€1\n');
};
const cut: RequestListener = (_request, response) => {
  response.write('day,cost\n', () => setTimeout(() => response.destroy(), 20));
};

it('writes a whole answer to a file, in place of an older one', async () => {
  await writeFile(file, 'old');
  await from(whole, file);
  expect(await readFile(file, 'utf8')).toBe('day,cost\n2026-11-01,€1\n');
  expect([await readdir(folder), written]).toEqual([['costs.csv'], '']);
});

it('writes to standard output as fast as that takes it', async () => {
  await from(whole);
  expect(written).toBe('day,cost\n2026-11-01,€1\n');
  expect(drains).toBeGreaterThan(0);
});

it('leaves no file of an answer that is cut off, and an older one as it was', async () => {
  await expect(from(cut, file)).rejects.toThrow(UnreachableError);
  expect(await readdir(folder)).toEqual([]);
  server?.close();
  await writeFile(file, 'old');
  await expect(from(cut, file)).rejects.toThrow('cut off before its end');
  expect([await readdir(folder), await readFile(file, 'utf8')]).toEqual([['costs.csv'], 'old']);
  server?.close();
  await expect(from(cut)).rejects.toThrow(UnreachableError);
});

it('leaves none of a refused one, nor of one that the person interrupts', async () => {
  const refused: RequestListener = (_request, response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end('{"error":{"code":"invalid_value","message":"too many rows"}}');
  };
  await expect(from(refused, file)).rejects.toThrow(ApiError);
  server?.close();
  const interrupt = new AbortController();
  const slow: RequestListener = (_request, response) => {
    response.write('day', () => interrupt.abort());
  };
  await expect(from(slow, file, interrupt.signal)).rejects.toThrow('aborted');
  expect(await readdir(folder)).toEqual([]);
});

it('asks for nothing that it could not write', async () => {
  let asked = 0;
  const counted: RequestListener = (_request, response) => {
    asked += 1;
    response.end();
  };
  await expect(from(counted, path.join(folder, 'none', 'costs.csv'))).rejects.toThrow(
    /costs\.csv can't be written: ENOENT/,
  );
  expect(asked).toBe(0);
  await expect(from(whole, folder)).rejects.toThrow(UsageError);
});
