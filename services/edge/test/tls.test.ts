import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as requestHttp } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect as connectTcp } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { MountedSecret, signedBy, testAuthority, type TestCertificate } from '@gatehouse/test/certificates';
import { eventually } from '@gatehouse/test/eventually';
import { loadConfig } from '../src/config.ts';
import { EdgeUnderTest } from './edge-under-test.ts';
import { requiredSettings } from './required-settings.ts';

const name = 'gateway.example.com';
let ca: TestCertificate;
let first: TestCertificate;
let second: TestCertificate;
beforeAll(async () => {
  ca = await testAuthority();
  first = await signedBy(ca, name, 'first.example.com');
  second = await signedBy(ca, name, 'second.example.com');
});

let folder: string;
let secret: MountedSecret;
let edge: EdgeUnderTest;
let lines: string[];
beforeEach(async () => {
  lines = [];
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-tls-'));
  secret = new MountedSecret(folder);
  await secret.write({ 'tls.crt': first.cert, 'tls.key': first.key });
  edge = await EdgeUnderTest.start(
    { TLS_CERT: secret.path('tls.crt'), TLS_KEY: secret.path('tls.key') },
    undefined,
    {
      certificate: { everyMs: 20 },
      log: createLogger('edge', 'info', { write: (line) => void lines.push(line) }),
    },
  );
});
afterEach(async () => {
  await edge.stop();
  await rm(folder, { recursive: true });
});

/** The status of a request with a key on a new connection. */
async function status(options: RequestOptions = {}): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${edge.key}` };
  const sent = request({
    ...{ port: edge.port, path: '/v1/models', servername: name, ca: ca.cert, agent: false, headers },
    ...options,
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

async function handshake(options: { maxVersion?: 'TLSv1.1' } = {}): Promise<TLSSocket> {
  // OpenSSL offers versions below 1.2 at this level only.
  const ciphers =
    options.maxVersion === undefined ? {} : { ciphers: 'DEFAULT@SECLEVEL=0', minVersion: 'TLSv1' as const };
  const socket = connect({ port: edge.port, servername: name, ca: ca.cert, ...ciphers, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

async function servedNames(): Promise<string> {
  const socket = await handshake();
  const { subjectaltname = '' } = socket.getPeerCertificate();
  socket.destroy();
  return subjectaltname;
}

describe('the edge with a certificate', () => {
  it('serves https from TLS 1.2 on, and no http', async () => {
    expect(await status()).toBe(200);
    expect(edge.arrivals).toHaveLength(1);
    expect(await status({ maxVersion: 'TLSv1.2' })).toBe(200);
    await expect(handshake({ maxVersion: 'TLSv1.1' })).rejects.toThrow(/protocol version/);
    const plain = requestHttp({ port: edge.port, path: '/health' });
    plain.end();
    await expect(once(plain, 'response')).rejects.toThrow(/hang up|ECONNRESET/);
  });

  it('serves a renewed certificate to new connections, and open ones stay', async () => {
    const open = await handshake();
    expect(await servedNames()).toContain('first.example.com');
    await secret.write({ 'tls.crt': second.cert, 'tls.key': second.key });
    await eventually(async () => expect(await servedNames()).toContain('second.example.com'));
    open.write(`GET /health HTTP/1.1\r\nhost: ${name}\r\nconnection: close\r\n\r\n`);
    expect(String(Buffer.concat((await open.toArray()) as Buffer[]))).toMatch(/^HTTP\/1\.1 200/);
  });

  it.each([
    ['cut off', () => ({ 'tls.crt': second.cert.slice(0, 200), 'tls.key': second.key })],
    ['of another key', () => ({ 'tls.crt': second.cert, 'tls.key': first.key })],
    ['empty', () => ({ 'tls.crt': '', 'tls.key': '' })],
  ])('keeps its certificate when the new one is %s, and logs that once', async (_case, files) => {
    const failures = (): number => lines.filter((line) => line.includes('failed to load')).length;
    await secret.write(files());
    await eventually(() => expect(failures()).toBe(1));
    expect(await servedNames()).toContain('first.example.com');
    await secret.write({ 'tls.crt': second.cert, 'tls.key': second.key });
    await eventually(async () => expect(await servedNames()).toContain('second.example.com'));
    expect(failures()).toBe(1);
    expect(lines.join('')).not.toContain('PRIVATE KEY');
  });

  it('stops while clients are silent in their handshake and after it', async () => {
    const silent = connectTcp(edge.port, '127.0.0.1');
    await once(silent, 'connect');
    const secured = await handshake();
    const closed = Promise.all([once(silent, 'close'), once(secured, 'close')]);
    await edge.stop();
    await closed;
  });
});

describe('the settings of TLS', () => {
  it('need each other, and a public URL of https', () => {
    expect(() => loadConfig({ ...requiredSettings, TLS_CERT: '/a' })).toThrow(
      'TLS_KEY: is needed with TLS_CERT',
    );
    expect(() => loadConfig({ ...requiredSettings, TLS_KEY: '/a' })).toThrow(
      'TLS_CERT: is needed with TLS_KEY',
    );
    const both = { ...requiredSettings, TLS_CERT: '/a', TLS_KEY: '/b' };
    expect(() => loadConfig({ ...both, PUBLIC_URL: 'http://127.0.0.1:8080' })).toThrow(
      'PUBLIC_URL: must be https, because TLS_CERT and TLS_KEY are set',
    );
    expect(loadConfig({ ...both, PUBLIC_URL: 'https://gateway.example.com' }).TLS_CERT).toBe('/a');
  });

  it('stop the start where a file is missing or the key is of another certificate', async () => {
    const start = (files: Record<string, string>) => EdgeUnderTest.start(files);
    const cert = secret.path('tls.crt');
    await expect(start({ TLS_CERT: cert, TLS_KEY: `${folder}/none` })).rejects.toThrow(
      /TLS_KEY: ENOENT.*none/,
    );
    await expect(start({ TLS_CERT: cert, TLS_KEY: cert })).rejects.toThrow(
      /TLS_CERT, TLS_KEY: no certificate in PEM/,
    );
  });
});
