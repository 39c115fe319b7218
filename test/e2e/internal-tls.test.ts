import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { services } from '@gatehouse/contract/services';
import { dayMs } from '@gatehouse/kit/bounds';
import { createLogger } from '@gatehouse/kit/log';
import {
  InternalFiles,
  signed,
  signedBy,
  testAuthority,
  type TestCertificate,
} from '@gatehouse/test/certificates';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** Every service on its own sockets, with TLS between all of them. */

interface Line {
  msg: string;
  reason?: string;
  err?: { message: string };
}

let folder: string;
let ca: TestCertificate;
let otherCa: TestCertificate;
let files: ReadonlyMap<string, InternalFiles>;
let gateway: TestGateway;
let tenant: TenantAccess;
const lines: Record<'edge' | 'chat', Line[]> = { edge: [], chat: [] };
const logOf = (service: 'edge' | 'chat') =>
  createLogger(service, 'warn', { write: (line) => void lines[service].push(JSON.parse(line) as Line) });

beforeAll(async () => {
  [folder, ca, otherCa] = await Promise.all([
    mkdtemp(path.join(tmpdir(), 'gatehouse-mtls-')),
    testAuthority(),
    testAuthority('Other CA'),
  ]);
  const names = services.map(({ name }) => name);
  files = await InternalFiles.ofServices(folder, ca, names);
  gateway = await TestGateway.start({
    separate: true,
    environment: (service) => ({ ...files.get(service)?.settings }),
    edge: { log: logOf('edge') },
    chat: { log: logOf('chat') },
  });
  tenant = await gateway.makeTenant();
  await gateway.call('/v1/agents', { key: tenant.adminKey, body: { key: 'bot', model: 'small' } });
});
afterAll(async () => {
  await gateway.stop();
  await rm(folder, { recursive: true });
});

/** Starts a service again, with another certificate. */
async function restartWith(service: string, certificate: TestCertificate): Promise<void> {
  await gateway.stopMember(`${service}-1`);
  await files.get(service)?.write(certificate, ca);
  for (const list of Object.values(lines)) list.splice(0);
  await gateway.startMember(`${service}-1`);
}

async function statusOf(model = 'agent:bot', key = tenant.userKey): Promise<number> {
  const body = { model, messages: [{ role: 'user', content: 'x' }] };
  return (await gateway.call('/v1/chat/completions', { key, body })).status;
}

const reasonsIn = (service: 'edge' | 'chat'): string[] =>
  lines[service]
    .filter(({ msg }) => msg.startsWith('no connection '))
    .map(({ reason, err }) => reason ?? err?.message ?? '');

const past = { notBeforeDate: new Date(Date.now() - 2 * dayMs), notAfterDate: new Date(Date.now() - dayMs) };
const bad: [string, (name: string) => Promise<TestCertificate>, RegExp][] = [
  [
    'has expired',
    (name) => signed(ca, { ...past, commonName: name, names: [name] }),
    /certificate has expired/,
  ],
  ['is of another CA', (name) => signedBy(otherCa, name), /unable to verify the first certificate/],
  ['has the name of another service', () => signedBy(ca, 'agent'), /has DNS:agent, not DNS:/],
];

describe('services with TLS between them', () => {
  it('answer a whole request: edge, tenant, chat and agent', async () => {
    expect(await statusOf()).toBe(200);
    expect(lines).toEqual({ edge: [], chat: [] });
  });

  describe.each(['chat', 'tenant'])('send nothing to %s where its certificate', (service) => {
    afterEach(async () => restartWith(service, await signedBy(ca, service)));

    it.each(bad)('%s, and the log of the edge says so', async (_case, make, reason) => {
      await restartWith(service, await make(service));
      // The edge knows its keys for a while without tenant.
      const key = service === 'tenant' ? `${tenant.userKey.slice(0, -1)}_` : tenant.userKey;
      // Until it connects again, its reason is still the stop.
      await eventually(async () => {
        expect(await statusOf('small', key)).toBe(503);
        expect(reasonsIn('edge')).toContainEqual(expect.stringMatching(reason));
      });
    });
  });

  describe('serve no edge whose certificate', () => {
    afterEach(async () => restartWith('edge', await signedBy(ca, 'edge')));

    it('has expired, as it logs itself', async () => {
      await restartWith('edge', await signed(ca, { ...past, commonName: 'edge', names: ['edge'] }));
      expect(lines.edge.map(({ msg }) => msg)).toContain(
        'a certificate has expired: no connection with it succeeds',
      );
      expect(await statusOf()).toBe(503);
      expect(reasonsIn('edge')).toContainEqual(
        expect.stringMatching(/^INTERNAL_TLS_CERT of this service expired at /),
      );
    });

    it('is of another CA, as it logs', async () => {
      await restartWith('edge', await signedBy(otherCa, 'edge'));
      expect(await statusOf()).toBe(503);
      expect(reasonsIn('edge')).toHaveLength(1);
    });
  });

  it('answer again once the certificates are right', async () => {
    expect(await statusOf()).toBe(200);
  });
});
