import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { scramVerifier } from './scram-verifier.ts';

/** The example of RFC 7677 section 3. */
const example = {
  password: 'pencil',
  salt: 'W22ZaJ0SNY7soEsUEjb6gQ==',
  iterations: 4096,
  authMessage: [
    'n=user,r=rOprNGfwEbeRWgbNEkqO',
    'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
    'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
  ].join(','),
  clientProof: 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
  serverSignature: '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
};

describe('the verifier of a password', () => {
  it('takes the proof of the RFC’s client, and signs as its server', async () => {
    const verifier = await scramVerifier(example.password, Buffer.from(example.salt, 'base64'));
    const [, iterations, salt, stored = '', server = ''] =
      /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)$/.exec(verifier) ?? [];
    expect([Number(iterations), salt]).toEqual([example.iterations, example.salt]);
    const signed = (key: string): Buffer =>
      createHmac('sha256', Buffer.from(key, 'base64')).update(example.authMessage).digest();
    expect(signed(server).toString('base64')).toBe(example.serverSignature);
    const mask = signed(stored);
    const clientKey = Buffer.from(example.clientProof, 'base64').map((byte, at) => byte ^ (mask[at] ?? 0));
    expect(createHash('sha256').update(clientKey).digest('base64')).toBe(stored);
  });

  it('is another one each time', async () => {
    expect(await scramVerifier('pencil')).not.toBe(await scramVerifier('pencil'));
  });
});
