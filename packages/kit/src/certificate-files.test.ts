import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { X509Certificate } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { MountedSecret, signed, testAuthority, type TestCertificate } from '@gatehouse/test/certificates';
import { eventually } from '@gatehouse/test/eventually';
import { dayMs, hourMs } from './bounds.ts';
import { CertificateFiles, checkServiceName } from './certificate-files.ts';
import { createLogger } from './log.ts';
import { expositionOf, Registry } from './metrics.ts';

/** Midnight, since certificates have whole seconds. */
const today = Math.floor(Date.now() / dayMs) * dayMs;
const at = (days: number): Date => new Date(today + days * dayMs);
const chat = { names: ['chat'], commonName: 'chat' };

let ca: TestCertificate;
let folder: string;
let secret: MountedSecret;
let lines: { level: string; msg: string; setting?: string; not_after?: string }[];
let clock: number;
/** How often the files and the clock were read. */
let reads: number;
let files: CertificateFiles;
let registry: Registry;
beforeAll(async () => {
  ca = await testAuthority('Test CA', { notBeforeDate: at(-400), notAfterDate: at(400) });
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-certificate-'));
  secret = new MountedSecret(folder);
  [lines, clock, reads, registry] = [[], today, 0, new Registry()];
  const file = (setting: string, name: string) => ({ setting, path: secret.path(name) });
  files = new CertificateFiles({
    ca: file('INTERNAL_TLS_CA', 'ca.crt'),
    cert: file('INTERNAL_TLS_CERT', 'tls.crt'),
    key: file('INTERNAL_TLS_KEY', 'tls.key'),
    log: createLogger('test', 'info', {
      write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]),
    }),
    ...{ registry, everyMs: 2 },
    now: () => {
      reads += 1;
      return clock;
    },
  });
});
afterEach(async () => {
  await files.stop();
  await rm(folder, { recursive: true });
});

async function write({ cert, key }: TestCertificate, bundle = ca.cert): Promise<void> {
  await secret.write({ 'ca.crt': bundle, 'tls.crt': cert, 'tls.key': key });
}

const texts = (): string[] => lines.map(({ level, msg }) => `${level}: ${msg}`);

/** Resolves after the files have been read a few times more. */
async function someReads(): Promise<void> {
  const before = reads;
  await eventually(() => expect(reads).toBeGreaterThan(before + 6));
}

describe('a certificate that nothing renews', () => {
  it('is logged when it is loaded, once a day from 14 days before its end, and as an error after it', async () => {
    await write(await signed(ca, { ...chat, notBeforeDate: at(-75), notAfterDate: at(15) }));
    await files.start();
    await someReads();
    expect(texts()).toEqual(['info: loaded a certificate']);
    clock = today + dayMs;
    await eventually(() => expect(texts()).toHaveLength(2));
    expect(lines[1]).toMatchObject({
      ...{ level: 'warn', msg: 'a certificate expires soon', setting: 'INTERNAL_TLS_CERT' },
      not_after: at(15).toISOString(),
    });
    clock += dayMs - 1;
    await someReads();
    expect(lines).toHaveLength(2);
    clock += 1;
    await eventually(() => expect(lines).toHaveLength(3));
    expect(files.expired()).toBeUndefined();
    clock = today + 15 * dayMs;
    const ended = 'error: a certificate has expired: no connection with it succeeds';
    await eventually(() => expect(texts().at(-1)).toBe(ended));
    expect(files.expired()).toMatchObject({ code: 'CERT_HAS_EXPIRED', syscall: 'connect' });
    await write(await signed(ca, { ...chat, notBeforeDate: at(15), notAfterDate: at(105) }));
    await eventually(() => expect(texts().at(-1)).toBe('info: loaded a certificate'));
    clock += 2 * dayMs;
    await someReads();
    expect(texts().at(-1)).toBe('info: loaded a certificate');
  });

  it('is logged for the last quarter of a shorter lifetime', async () => {
    await write(await signed(ca, { ...chat, notBeforeDate: at(0), notAfterDate: at(1) }));
    await files.start();
    clock = today + 18 * hourMs - 1;
    await someReads();
    expect(texts()).toEqual(['info: loaded a certificate']);
    clock += 1;
    await eventually(() => expect(texts().at(-1)).toBe('warn: a certificate expires soon'));
  });

  it('is logged when its CA expires before it; an old CA beside a new one has no effect', async () => {
    const leaf = await signed(ca, { ...chat, notBeforeDate: at(-1), notAfterDate: at(200) });
    const old = await testAuthority('Test CA', { notBeforeDate: at(-400), notAfterDate: at(-1) });
    const ending = await testAuthority('Test CA', { notBeforeDate: at(-400), notAfterDate: at(3) });
    await write(leaf, old.cert + ca.cert);
    await files.start();
    expect(texts()).toEqual(['info: loaded a certificate']);
    await write(leaf, ending.cert);
    await eventually(() =>
      expect(lines.at(-1)).toMatchObject({ level: 'warn', not_after: at(3).toISOString() }),
    );
  });

  it('refuses no connection for another certificate of its chain, or a CA, that has expired', async () => {
    const old = await testAuthority('Test CA', { notBeforeDate: at(-400), notAfterDate: at(-1) });
    const leaf = await signed(ca, { ...chat, notBeforeDate: at(-1), notAfterDate: at(200) });
    const ended = 'error: a certificate of the chain or the CA has expired: connections may fail';
    await write({ ...leaf, cert: `${leaf.cert}\n${old.cert}` });
    await files.start();
    expect(texts()).toEqual(['info: loaded a certificate', ended]);
    expect(files.expired()).toBeUndefined();
    await write(leaf, old.cert);
    await eventually(() => expect(lines).toHaveLength(4));
    expect(texts().at(-1)).toBe(ended);
    expect(files.expired()).toBeUndefined();
  });

  it('has its times in the metrics', async () => {
    await write(await signed(ca, { ...chat, notBeforeDate: at(-1), notAfterDate: at(89) }));
    await files.start();
    const { text } = await expositionOf([registry]);
    for (const [name, days] of [
      ['before', -1],
      ['after', 89],
    ] as const)
      expect(text).toContain(
        `gatehouse_certificate_not_${name}_timestamp_seconds{setting="INTERNAL_TLS_CERT"} ${at(days).getTime() / 1_000}\n`,
      );
  });
});

describe('a bundle of CAs', () => {
  it.each([
    ['malformed', (pem: string) => pem.replace(/\nMII/, '\nXII')],
    ['cut off', (pem: string) => pem.slice(0, 300)],
  ])('is not used if one of them is %s, whichever it is', async (_case, spoil) => {
    const leaf = await signed(ca, { ...chat, notBeforeDate: at(-1), notAfterDate: at(89) });
    await write(leaf, `${ca.cert}\n${spoil(ca.cert)}`);
    await expect(files.start()).rejects.toThrow(/INTERNAL_TLS_CA: no certificate in PEM/);
    await write(leaf, `${ca.cert}\n# the next one\n${ca.cert}`);
    await files.start();
  });
});

describe('the name of a service', () => {
  const check = ({ cert }: TestCertificate): Error | undefined =>
    // Node's documented member with the whole certificate.
    checkServiceName('chat', { raw: new X509Certificate(cert).raw } as PeerCertificate);

  it('is a DNS name of its certificate, and neither its subject nor a pattern', async () => {
    expect(check(await signed(ca, { commonName: 'other', names: ['other', 'chat'] }))).toBeUndefined();
    for (const names of [[], ['*'], ['chat.example.com'], ['agent']])
      expect(check(await signed(ca, { commonName: 'chat', names }))).toMatchObject({
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
        message: expect.stringContaining('the certificate of the chat service has ') as unknown,
      });
  });
});
