import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ApiClient, ApiError, UnreachableError } from './api-client.ts';
import { download } from './download.ts';
import { UsageError } from './usage-error.ts';

let folder: string;
let file: string;
let server: Server | undefined;
let written: string;
let drains: number;
let isTerminal: boolean;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'download-'));
  file = path.join(folder, 'costs.csv');
  written = '';
  drains = 0;
  isTerminal = false;
});
afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  await rm(folder, { recursive: true });
});

const surroundings = {
  get isTerminal() {
    return isTerminal;
  },
  write: (text: string) => {
    written += text;
  },
  drain: () => {
    drains += 1;
    return Promise.resolve();
  },
};

async function serve(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function from(answer: RequestListener, out?: string, signal?: AbortSignal): Promise<void> {
  const url = await serve(answer);
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

it('writes no characters that would steer a terminal, but to others all of them', async () => {
  const steering: RequestListener = (_request, response) =>
    response.end('id,name\r\n1,"\u001b]0;mine\u0007\u009b2J\u202eé\ttwo\nlines"\r\n');
  await from(steering);
  const shown = 'id,name\n1,"�]0;mine��2J�é\ttwo\nlines"\n';
  expect(written).toBe('id,name\r\n1,"\u001b]0;mine\u0007\u009b2J\u202eé\ttwo\nlines"\r\n');
  server?.close();
  [written, isTerminal] = ['', true];
  await from(steering);
  expect(written).toBe(shown);
});

it.each([undefined, '-'])('writes to standard output as fast as that takes it: %s', async (out) => {
  await from(whole, out);
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

const modeOf = async (of: string): Promise<number> => (await stat(of)).mode & 0o777;

it('makes files that others can’t read, and keeps the mode of one that it replaces', async () => {
  await from(whole, file);
  expect(await modeOf(file)).toBe(0o600);
  server?.close();
  await chmod(file, 0o664);
  await from(whole, file);
  expect(await modeOf(file)).toBe(0o664);
});

it('keeps a link, and replaces the file that it leads to', async () => {
  const link = path.join(folder, 'latest.csv');
  await writeFile(file, 'old');
  await symlink('costs.csv', link);
  await from(whole, link);
  expect([await readlink(link), await readFile(file, 'utf8')]).toEqual([
    'costs.csv',
    'day,cost\n2026-11-01,€1\n',
  ]);
  server?.close();
  await rm(file);
  await expect(from(whole, link)).rejects.toThrow('a link to a file that does not exist');
  expect(await readdir(folder)).toEqual(['latest.csv']);
});

it('writes into pipes and open files, which stay', async () => {
  const pipe = path.join(folder, 'pipe');
  await promisify(execFile)('mkfifo', [pipe]);
  const read = readFile(pipe, 'utf8');
  await from(whole, pipe);
  expect(await read).toBe('day,cost\n2026-11-01,€1\n');
  expect((await stat(pipe)).isFIFO()).toBe(true);
  server?.close();
  await writeFile(file, 'before\n');
  const held = await open(file, 'a');
  await from(whole, `/proc/self/fd/${held.fd}`);
  await held.write('behind\n');
  await held.close();
  expect(await readFile(file, 'utf8')).toBe('before\nday,cost\n2026-11-01,€1\nbehind\n');
});

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('of a command that %s ends leaves no file', async (signal, code) => {
  const begun = Promise.withResolvers<undefined>();
  const url = await serve((_request, response) => {
    response.write('day,cost\n', () => begun.resolve(undefined));
  });
  const environment = { GATEHOUSE_URL: url, GATEHOUSE_API_KEY: 'k' };
  const program = [path.join(import.meta.dirname, 'main.ts'), 'costs', 'export', '--out', file];
  const command = spawn(process.execPath, program, { env: environment, stdio: 'ignore' });
  const ended = once(command, 'exit');
  await begun.promise;
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^costs\.csv\..*\.part$/)]);
  command.kill(signal);
  expect(await ended).toEqual([code, null]);
  expect(await readdir(folder)).toEqual([]);
});
