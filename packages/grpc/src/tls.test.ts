import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Verifier } from '@gatehouse/identity/verifier';
import { dayMs } from '@gatehouse/kit/bounds';
import { createLogger } from '@gatehouse/kit/log';
import { TenantServiceClient, TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import {
  InternalFiles,
  signed,
  signedBy,
  testAuthority,
  type TestCertificate,
} from '@gatehouse/test/certificates';
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
let lines: { msg: string; peer?: string; reason?: string; cause?: string }[];
const note = (line: string): void => void lines.push(JSON.parse(line) as (typeof lines)[0]);
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-mtls-'));
  ends = [];
  [handled, lines] = [0, []];
});
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  await rm(folder, { recursive: true });
});

/** Files of a service with a certificate of `authority` for a name. */
async function filesOf(name: string, authority = ca, ...trusted: TestCertificate[]): Promise<InternalFiles> {
  return filesWith(await signedBy(authority, name), ...trusted);
}

async function filesWith(
  certificate: TestCertificate,
  ...trusted: TestCertificate[]
): Promise<InternalFiles> {
  const log = createLogger('test', 'warn', { write: note });
  const made = new InternalFiles(await mkdtemp(path.join(folder, 'service-')), log);
  await made.write(certificate, ...(trusted.length === 0 ? [ca] : trusted));
  await made.files.start();
  ends.push(() => made.files.stop());
  return made;
}

/** The port of a tenant service that shows these files. */
async function serve({ files }: InternalFiles): Promise<number> {
  const place = { service: 'tenant', host: '127.0.0.1', port: 0, drainTimeoutMs: 200 };
  const server = new GrpcServer({
    ...{ ...place, verifier, log: createLogger('test', 'warn', { write: note }), certificate: files },
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

  it('neither serve nor call one whose certificate has its name as subject alone', async () => {
    const tenant = await filesOf('tenant');
    const chat = await filesOf('chat');
    const [subjectTenant, subjectChat] = [
      await filesWith(await signed(ca, { commonName: 'tenant' })),
      await filesWith(await signed(ca, { commonName: 'chat' })),
    ];
    await expect(call(await serve(tenant), subjectChat)).rejects.toMatchObject({ code: 'bad_gateway' });
    await expect(call(await serve(subjectTenant), chat)).rejects.toMatchObject(unreachable);
    expect(handled).toBe(0);
  });

  const past = {
    notBeforeDate: new Date(Date.now() - 2 * dayMs),
    notAfterDate: new Date(Date.now() - dayMs),
  };
  const bad: [string, (name: string) => Promise<TestCertificate>, Record<'server' | 'client', RegExp>][] = [
    [
      'has expired',
      (name) => signed(ca, { ...past, commonName: name, names: [name] }),
      // The client itself sends nothing then.
      { server: /certificate has expired/, client: /^INTERNAL_TLS_CERT of this service expired at / },
    ],
    [
      'is of another CA',
      (name) => signedBy(otherCa, name),
      { server: /unable to verify the first certificate/, client: /UNABLE_TO_VERIFY_LEAF_SIGNATURE/ },
    ],
    [
      'has another name',
      () => signedBy(ca, 'edge'),
      { server: /has DNS:edge, not DNS:tenant/, client: /has DNS:edge, not DNS:chat/ },
    ],
  ];

  it.each(bad)(
    'log once for many calls that the certificate of the server %s',
    async (_case, make, { server }) => {
      const port = await serve(await filesWith(await make('tenant')));
      const chat = await filesOf('chat');
      for (const _ of [1, 2, 3]) await expect(call(port, chat)).rejects.toMatchObject(unreachable);
      const failures = lines.filter(({ msg }) => msg === 'no connection to a service');
      expect(failures).toEqual([
        expect.objectContaining({ peer: 'tenant', reason: expect.stringMatching(server) as unknown }),
      ]);
      // On the other side the client has left.
      await eventually(() => expect(lines.map(({ msg }) => msg)).toContain('no connection from a service'));
    },
  );

  it.each(bad)('log that the certificate of the client %s', async (_case, make, { client }) => {
    const port = await serve(await filesOf('tenant'));
    await expect(call(port, await filesWith(await make('chat')))).rejects.toThrow();
    expect(handled).toBe(0);
    await eventually(() =>
      expect(lines.map(({ reason, cause }) => reason ?? cause)).toContainEqual(expect.stringMatching(client)),
    );
  });

  it('call each other while their CA is renewed with its key, as the chart has it', async () => {
    const renewed = await testAuthority('Test CA', { key: ca.key });
    expect(renewed.cert).not.toBe(ca.cert);
    const [before, after] = [await filesOf('chat'), await filesOf('chat', renewed, renewed)];
    expect(await call(await serve(await filesOf('tenant')), after)).toEqual(settings);
    expect(await call(await serve(await filesOf('tenant', renewed, renewed)), before)).toEqual(settings);
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
