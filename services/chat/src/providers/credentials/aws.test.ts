import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { Catalogue } from '../../catalogue/catalogue.ts';
import type { ProviderOf } from '../../catalogue/provider-schema.ts';
import { awsKeys, type AwsKeys } from './aws.ts';
import type { IssuedCredential } from './credential-cache.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'aws-'));
  await writeFile(path.join(folder, 'token'), 'identity');
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
  sockets.length = 0;
});
afterAll(() => rm(folder, { recursive: true }));

/** Keys of a role by a token of the surroundings, from an STS with the answers of `listener`. */
async function keysBy(
  listener: RequestListener,
): Promise<(signal: AbortSignal) => Promise<IssuedCredential<AwsKeys>>> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  server.on('connection', (socket: Socket) => void sockets.push(socket));
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [provider] = Catalogue.parse({
    providers: [
      {
        ...{ name: 'aws', kind: 'bedrock', region: 'eu-central-1', base_url: 'https://bedrock.example' },
        web_identity: {
          ...{ role_arn: 'arn:aws:iam::123:role/gw', token_file: path.join(folder, 'token') },
          sts_url: `http://127.0.0.1:${port}`,
        },
      },
    ],
    models: [{ id: 'm', provider: 'aws' }],
  }).providers;
  return awsKeys(provider as ProviderOf<'bedrock'>, {});
}

const answer = `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AKID</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>session</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;

it('a request for keys of a role ends with its signal, and leaves no connection', async () => {
  const keys = await keysBy((request) => void request.resume());
  const leaving = new AbortController();
  const asked = keys(leaving.signal);
  await eventually(() => expect(sockets).toHaveLength(1));
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await eventually(() => expect(sockets.every(({ destroyed }) => destroyed)).toBe(true), 5_000);
});

it.each([
  ['small', 0, true],
  ['too large', 64 * 1024, false],
])(
  'an answer with keys of a role that is %s, with %d bytes more, is used: %s',
  async (_name, padding, isUsed) => {
    const keys = await keysBy((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'text/xml' }).end(answer + '\n'.repeat(padding));
    });
    const asked = keys(new AbortController().signal);
    if (isUsed) expect((await asked).value).toMatchObject({ accessKeyId: 'AKID', sessionToken: 'session' });
    else await expect(asked).rejects.toThrow('too large');
  },
);
