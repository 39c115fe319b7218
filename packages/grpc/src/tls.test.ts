import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Verifier } from '@gatehouse/identity/verifier';
import { createLogger } from '@gatehouse/kit/log';
import { TenantServiceClient, TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import { InternalFiles, signedBy, testAuthority, type TestCertificate } from '@gatehouse/test/certificates';
import { eventually } from '@gatehouse/test/eventually';
import { testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { tenantRpcs, tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { RpcClient } from './client.ts';
import { GrpcServer } from './server.ts';

const settings = tenantSettings({ previewMaxChars: 7 });
let identity: TestIdentity;
let verifier: Verifier;
let ca: TestCertificate;
let otherCa: TestCertificate;
beforeAll(async () => {
  identity = await testIdentity();
  verifier = await Verifier.create(identity.publicKeys);
  ca = await testAuthority();
  otherCa = await testAuthority('Other CA');
});

let folder: string;
let ends: (() => Promise<void> | void)[];
let handled: number;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-mtls-'));
  ends = [];
  handled = 0;
});
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  await rm(folder, { recursive: true });
});

/** Files of a service with a certificate of `authority` for a name. */
async function filesOf(name: string, authority = ca, ...trusted: TestCertificate[]): Promise<InternalFiles> {
  const made = new InternalFiles(await mkdtemp(path.join(folder, 'service-')));
  await made.write(await signedBy(authority, name), ...(trusted.length === 0 ? [ca] : trusted));
  await made.files.start();
  ends.push(() => made.files.stop());
  return made;
}

/** The port of a tenant service that shows these files. */
async function serve({ files }: InternalFiles): Promise<number> {
  const place = { service: 'tenant', host: '127.0.0.1', port: 0, drainTimeoutMs: 200 };
  const server = new GrpcServer({
    ...{ ...place, verifier, log: createLogger('test', 'silent'), certificate: files },
  }).add(
    TenantServiceService,
    tenantRpcs({
      getTenantSettings: {
        callers: ['chat', 'agent'],
        handle: async () => {
          handled += 1;
          return settings;
        },
      },
    }),
  );
  await server.start();
  ends.push(() => server.stop());
  return server.port;
}

/** Calls on a new connection, with the token of the service `as`. */
async function call(port: number, files: InternalFiles | undefined, as = 'chat') {
  const client = new RpcClient({
    ...{ peer: 'tenant', addresses: [`127.0.0.1:${port}`], stub: TenantServiceClient },
    ...{ signer: await identity.signer(as), certificate: files?.files },
  });
  try {
    return await client.call('getTenantSettings', { tenantId: 't1' }, { deadlineMs: 5_000 });
  } finally {
    client.close();
  }
}

const unreachable = { code: 'service_unavailable', status: 503 };

describe('services with certificates', () => {
  it('call each other when both certificates have their names', async () => {
    const port = await serve(await filesOf('tenant'));
    expect(await call(port, await filesOf('chat'))).toEqual(settings);
    expect(handled).toBe(1);
  });

  it('serve no client without a certificate, or with one of another CA', async () => {
    const port = await serve(await filesOf('tenant'));
    await expect(call(port, undefined)).rejects.toMatchObject(unreachable);
    await expect(call(port, await filesOf('chat', otherCa, ca))).rejects.toMatchObject(unreachable);
    expect(handled).toBe(0);
  });

  it('serve no client whose token is of another service than its certificate', async () => {
    const port = await serve(await filesOf('tenant'));
    await expect(call(port, await filesOf('edge'))).rejects.toMatchObject({ code: 'bad_gateway' });
    await expect(call(port, await filesOf('agent'))).rejects.toMatchObject({ code: 'bad_gateway' });
    expect(handled).toBe(0);
    expect(await call(port, await filesOf('agent'), 'agent')).toEqual(settings);
  });

  it('call no server with the name of another service, of another CA, or without a certificate', async () => {
    const chat = await filesOf('chat');
    const agent = await serve(await filesOf('agent'));
    await expect(call(agent, chat)).rejects.toMatchObject(unreachable);
    const stranger = await serve(await filesOf('tenant', otherCa));
    await expect(call(stranger, chat)).rejects.toMatchObject(unreachable);
    expect(handled).toBe(0);
  });

  it('take new certificates of a new CA while they run', async () => {
    const tenant = await filesOf('tenant', ca, ca, otherCa);
    const chat = await filesOf('chat', ca, ca, otherCa);
    const renewed = await filesOf('chat', otherCa, otherCa);
    const port = await serve(tenant);
    expect(await call(port, chat)).toEqual(settings);
    await expect(call(port, renewed)).rejects.toMatchObject(unreachable);
    await tenant.write(await signedBy(otherCa, 'tenant'), ca, otherCa);
    await eventually(async () => expect(await call(port, renewed)).toEqual(settings));
    expect(await call(port, chat)).toEqual(settings);
    await tenant.write(await signedBy(otherCa, 'tenant'), otherCa);
    await eventually(() => expect(call(port, chat)).rejects.toMatchObject(unreachable));
    await chat.write(await signedBy(otherCa, 'chat'), otherCa);
    await eventually(async () => expect(await call(port, chat)).toEqual(settings));
  });
});
