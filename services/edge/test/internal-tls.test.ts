import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { HttpServer } from '@gatehouse/http/server';
import { createLogger } from '@gatehouse/kit/log';
import {
  InternalFiles,
  signed,
  signedBy,
  testAuthority,
  type TestCertificate,
} from '@gatehouse/test/certificates';
import { eventually } from '@gatehouse/test/eventually';
import { loadConfig } from '../src/config.ts';
import { createService } from '../src/service.ts';
import { EdgeUnderTest } from './edge-under-test.ts';
import { requiredSettings } from './required-settings.ts';

let ca: TestCertificate;
let otherCa: TestCertificate;
let folder: string;
let edgeFiles: InternalFiles;
let edge: EdgeUnderTest;
let agent: HttpServer;
let chat: HttpServer;
let wrongName: HttpServer;
const ends: (() => Promise<void> | void)[] = [];
const arrivals: string[] = [];
const lines: {
  msg: string;
  reason?: string;
  address?: string;
  service?: string;
  err?: { message: string };
}[] = [];

async function filesOf(name: string, authority = ca): Promise<InternalFiles> {
  return filesWith(await signedBy(authority, name));
}

async function filesWith(certificate: TestCertificate): Promise<InternalFiles> {
  const log = createLogger('test', 'warn', { write: note });
  const made = new InternalFiles(await mkdtemp(path.join(folder, 'service-')), log);
  await made.write(certificate, ca);
  await made.files.start();
  ends.push(() => made.files.stop());
  return made;
}

const note = (line: string): void => void lines.push(JSON.parse(line) as (typeof lines)[0]);

/** A service that the edge alone may call, with a certificate for a name. */
async function serve({ files }: InternalFiles): Promise<HttpServer> {
  const server = new HttpServer(
    (incoming, response) => {
      arrivals.push(incoming.url ?? '');
      incoming.resume().on('end', () => response.end('{}'));
    },
    { host: '127.0.0.1', port: 0, drainTimeoutMs: 1_000, certificate: files, clients: ['edge'] },
  );
  await server.start();
  ends.push(() => server.stop());
  return server;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-mtls-'));
  ca = await testAuthority();
  otherCa = await testAuthority('Other CA');
  edgeFiles = await filesOf('edge');
  agent = await serve(await filesOf('agent'));
  chat = await serve(await filesOf('chat'));
  wrongName = await serve(await filesOf('memory'));
  const tenant = await filesOf('tenant');
  const own = await filesOf('edge');
  const addressOf = ({ port }: HttpServer): string => `127.0.0.1:${port}`;
  edge = await EdgeUnderTest.start(
    {
      ...own.settings,
      AGENT_HTTP: addressOf(agent),
      // Two, so that the edge checks whether they live.
      CHAT_HTTP: [addressOf(chat), addressOf(await serve(await filesOf('chat')))].join(','),
      WEBHOOK_HTTP: addressOf(wrongName),
      ANALYTICS_HTTP: addressOf(await serve(await filesOf('analytics', otherCa))),
      MEMORY_HTTP: addressOf(await serve(await filesWith(await signed(ca, { commonName: 'memory' })))),
    },
    undefined,
    { tenantCertificate: tenant.files, log: createLogger('edge', 'warn', { write: note }) },
  );
});
afterEach(() => {
  arrivals.splice(0);
  lines.splice(0);
});
afterAll(async () => {
  await edge.stop();
  for (const end of ends.reverse()) await end();
  await rm(folder, { recursive: true });
});

function ask(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(edge.url + url, {
    ...init,
    headers: { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json' },
  });
}

/** The status of a request to a service with the certificate of these files, or none. */
async function statusOf({ port }: HttpServer, files?: InternalFiles): Promise<number | undefined> {
  const { cert, key } = files?.files.current ?? {};
  const sent = request({ port, servername: 'agent', ca: ca.cert, cert, key, agent: false, path: '/' });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe('an edge with a certificate for services', () => {
  it('calls services by both ways, and its keys are known', async () => {
    expect((await ask('/v1/agents')).status).toBe(200);
    const body = JSON.stringify({ model: 'm', messages: [] });
    for (let time = 0; time < 4; time += 1)
      expect((await ask('/v1/chat/completions', { method: 'POST', body })).status).toBe(200);
    expect(arrivals.filter((url) => url !== '/livez')).toEqual([
      '/v1/agents',
      ...Array.from({ length: 4 }, () => '/v1/chat/completions'),
    ]);
    // Both replicas are alive, by the same certificate.
    await eventually(() => expect(arrivals.filter((url) => url === '/livez').length).toBeGreaterThan(1));
  });

  it('sends nothing to a service with another name or of another CA, and says that it cannot be reached', async () => {
    for (const [url, reason] of [
      ['/v1/webhooks/endpoints', 'has DNS:memory, not DNS:webhook'],
      ['/v1/usage/summary', 'unable to verify the first certificate'],
      // Its subject alone has the name of the service.
      ['/v1/agents/a/memory/documents', 'has no DNS name, not DNS:memory'],
    ] as const) {
      const response = await ask(url);
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ error: { code: 'service_unavailable' } });
      expect(lines.splice(0).at(-1)).toMatchObject({
        msg: 'no connection to a service',
        err: { message: expect.stringContaining(reason) as unknown },
      });
    }
    expect(arrivals.filter((url) => url !== '/livez')).toEqual([]);
  });
});

describe('a service behind the edge', () => {
  it('serves the edge alone', async () => {
    expect(await statusOf(agent, edgeFiles)).toBe(200);
    await expect(statusOf(agent)).rejects.toThrow();
    await expect(statusOf(agent, await filesOf('chat'))).rejects.toThrow();
    await expect(statusOf(agent, await filesOf('edge', otherCa))).rejects.toThrow();
    const reasons = [
      'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE',
      'the certificate has DNS:chat, not DNS:edge',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ];
    await eventually(() => {
      for (const reason of reasons)
        expect(lines).toContainEqual(
          expect.objectContaining({ msg: 'no connection from a service', address: '127.0.0.1', reason }),
        );
    });
    expect(arrivals.filter((url) => url !== '/livez')).toEqual(['/']);
  });

  it('accepts no connection that stops after its handshake without a certificate', async () => {
    const socket = connect({ port: agent.port, servername: 'agent', ca: ca.cert });
    const closed = Promise.withResolvers<unknown>();
    socket.on('error', () => undefined).on('close', closed.resolve);
    socket.resume();
    await closed.promise;
  });
});

describe('the settings of certificates for services', () => {
  it('are all needed, or none', async () => {
    const config = loadConfig({ ...requiredSettings, INTERNAL_TLS_CA: '/ca.crt' });
    await expect(createService(config)).rejects.toThrow(
      /INTERNAL_TLS_CERT: is needed with INTERNAL_TLS_CA and INTERNAL_TLS_KEY/,
    );
  });
});
