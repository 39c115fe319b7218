import { createPublicKey } from 'node:crypto';
import { rename, symlink, writeFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { CertificateFiles } from '@gatehouse/kit/certificate-files';
import { createLogger } from '@gatehouse/kit/log';
import { generate } from 'selfsigned';

/** A certificate and its private key in PEM. */
export interface TestCertificate {
  cert: string;
  key: string;
}

const day = 86_400_000;

/** The time in which a certificate of a test is valid; a day from now by default. */
export interface TestValidity {
  notBeforeDate?: Date;
  notAfterDate?: Date;
}

/** A certificate authority of a test; with the key of another one, its renewal. */
export async function testAuthority(
  name = 'Test CA',
  { key, ...validity }: TestValidity & { key?: string } = {},
): Promise<TestCertificate> {
  const made = await generate([{ name: 'commonName', value: name }], {
    ...{ keyType: 'ec', algorithm: 'sha256', notAfterDate: new Date(Date.now() + day), ...validity },
    ...(key === undefined ? {} : { keyPair: { privateKey: key, publicKey: publicKeyOf(key) } }),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** A certificate for DNS names, for both sides of a connection, signed by an authority. */
export function signedBy(ca: TestCertificate, ...names: string[]): Promise<TestCertificate> {
  return signed(ca, { commonName: names[0] ?? '', names });
}

/** The same, with a subject of another name than its DNS names, or for another time. */
export async function signed(
  ca: TestCertificate,
  { commonName, names = [], ...validity }: TestValidity & { commonName: string; names?: readonly string[] },
): Promise<TestCertificate> {
  const made = await generate([{ name: 'commonName', value: commonName }], {
    ...{ keyType: 'ec', algorithm: 'sha256', notAfterDate: new Date(Date.now() + day), ca, ...validity },
    extensions: [
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      ...(names.length === 0 ? [] : [alternatives(names)]),
    ],
  });
  return { cert: made.cert, key: made.private };
}

function publicKeyOf(key: string): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
}

function alternatives(names: readonly string[]) {
  return { name: 'subjectAltName' as const, altNames: names.map((value) => ({ type: 2 as const, value })) };
}

/**
 * A folder of files as Kubernetes mounts a Secret: links to `..data`, itself a link to a folder that `write` replaces at
 * once.
 */
export class MountedSecret {
  readonly #folder: string;
  #version = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The path of a file, which stays. */
  path(name: string): string {
    return path.join(this.#folder, name);
  }

  /** Replaces all files at once. */
  async write(files: Readonly<Record<string, string>>): Promise<void> {
    this.#version += 1;
    const version = `..v${this.#version}`;
    await mkdir(path.join(this.#folder, version), { recursive: true });
    for (const [name, text] of Object.entries(files)) {
      await writeFile(path.join(this.#folder, version, name), text);
      if (this.#version === 1) await symlink(path.join('..data', name), this.path(name));
    }
    await symlink(version, this.path('..data_tmp'));
    await rename(this.path('..data_tmp'), this.path('..data'));
  }
}

/** The files of a service for TLS with others, read often. */
export class InternalFiles {
  readonly files: CertificateFiles;
  /** The settings with their paths. */
  readonly settings: Readonly<Record<'INTERNAL_TLS_CA' | 'INTERNAL_TLS_CERT' | 'INTERNAL_TLS_KEY', string>>;
  readonly #secret: MountedSecret;

  constructor(folder: string, log = createLogger('test', 'silent')) {
    this.#secret = new MountedSecret(folder);
    const [ca = '', cert = '', key = ''] = ['ca.crt', 'tls.crt', 'tls.key'].map((name) =>
      this.#secret.path(name),
    );
    this.settings = { INTERNAL_TLS_CA: ca, INTERNAL_TLS_CERT: cert, INTERNAL_TLS_KEY: key };
    this.files = new CertificateFiles({
      ca: { setting: 'INTERNAL_TLS_CA', path: ca },
      cert: { setting: 'INTERNAL_TLS_CERT', path: cert },
      key: { setting: 'INTERNAL_TLS_KEY', path: key },
      log,
      everyMs: 20,
    });
  }

  /** Files of services in folders of their own, by the name in each certificate. */
  static async ofServices(
    folder: string,
    ca: TestCertificate,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, InternalFiles>> {
    const entries = names.map(async (name) => {
      await mkdir(path.join(folder, name));
      const made = new InternalFiles(path.join(folder, name));
      await made.write(await signedBy(ca, name), ca);
      return [name, made] as const;
    });
    return new Map(await Promise.all(entries));
  }

  /** Replaces the certificate, and the authorities that it trusts. */
  async write({ cert, key }: TestCertificate, ...trusted: TestCertificate[]): Promise<void> {
    const ca = trusted.map((authority) => authority.cert).join('\n');
    await this.#secret.write({ 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key });
  }
}
