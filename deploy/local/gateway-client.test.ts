import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { signedBy, testAuthority, type TestCertificate } from '@gatehouse/test/certificates';
import { GatewayClient } from './gateway-client.ts';
import { urlOf } from './local-tls.ts';

let server: Server;
let served: TestCertificate;
let other: TestCertificate;
beforeAll(async () => {
  const ca = await testAuthority();
  served = await signedBy(ca, 'gateway.example.com');
  other = await signedBy(ca, 'localhost');
  server = createServer(served, (request, response) => {
    void request.toArray().then((chunks) => {
      const body = Buffer.concat(chunks as Buffer[]).toString();
      response.end(JSON.stringify({ method: request.method, key: request.headers.authorization, body }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

function clientWith({ cert }: TestCertificate): GatewayClient {
  const { port } = server.address() as AddressInfo;
  return new GatewayClient(`https://127.0.0.1:${port}`, Buffer.from(cert));
}

describe('the client of a gateway with https', () => {
  it('trusts the certificate of the settings alone, whatever name it has', async () => {
    const reply = await clientWith(served).call('gwk_1', 'POST', '/v1/agents', { key: 'assistant' });
    expect(reply).toEqual({
      status: 200,
      body: { method: 'POST', key: 'Bearer gwk_1', body: '{"key":"assistant"}' },
    });
    await expect(clientWith(other).call('gwk_1', 'GET', '/v1/agents')).rejects.toThrow(/certificate/);
  });

  it('has the URL of localhost where the certificate has that name', () => {
    expect(urlOf(8443, Buffer.from(other.cert))).toBe('https://localhost:8443');
    expect(urlOf(8443, Buffer.from(served.cert))).toBe('https://127.0.0.1:8443');
    expect(urlOf(8080, undefined)).toBe('http://127.0.0.1:8080');
  });
});
