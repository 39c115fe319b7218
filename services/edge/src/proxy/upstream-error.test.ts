import { once } from 'node:events';
import { connect, type TcpNetConnectOpts } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '@gatehouse/local/ports';
import { Client } from 'undici';
import { upstreamError, wasRefused } from './upstream-error.ts';

async function connectError(options: Partial<TcpNetConnectOpts>): Promise<unknown> {
  const [error] = (await once(connect({ port: await freePort(), ...options }), 'error')) as [unknown];
  return error;
}

const failed = (code: string, syscall: string): Error => Object.assign(new Error(code), { code, syscall });

describe('an error of an upstream', () => {
  it.each([
    ['a port without a listener', { host: '127.0.0.1' }],
    ['several addresses of a name', { host: 'a.test', lookup: everywhere, autoSelectFamily: true }],
    ['a name that is none', { host: 'no-such-name.invalid' }],
  ])('says that nothing was sent: %s', async (_what, options) => {
    const error = await connectError(options);
    expect(wasRefused(error)).toBe(true);
    expect(upstreamError('chat', error)).toMatchObject({ status: 503, code: 'service_unavailable' });
  });

  it.each(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'ECONNRESET'])(
    '%s says so while connecting, and the opposite after that',
    (code) => {
      expect(wasRefused(failed(code, 'connect'))).toBe(true);
      expect(wasRefused(failed(code, 'read'))).toBe(false);
      expect(upstreamError('chat', failed(code, 'read'))).toMatchObject({ status: 502, code: 'bad_gateway' });
    },
  );

  it('of undici says so when a connection takes too long', async () => {
    // Nothing answers at this address, which is for documentation; or the machine has no way there at all.
    const client = new Client('http://192.0.2.1:9', { connect: { timeout: 100 } });
    const error: unknown = await client
      .request({ path: '/', method: 'GET' })
      .catch((caught: unknown) => caught);
    expect(wasRefused(error)).toBe(true);
    await client.destroy();
  });

  it.each([null, undefined, 'text', new Error('other'), failed('ECONNRESET', 'write')])(
    'says nothing of the kind: %s',
    (error) => {
      expect(wasRefused(error)).toBe(false);
    },
  );
});

function everywhere(
  _name: string,
  _options: unknown,
  callback: (error: null, addresses: { address: string; family: number }[]) => void,
): void {
  callback(null, [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]);
}
