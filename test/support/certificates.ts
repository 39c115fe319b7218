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

/** A certificate authority of a test. */
export async function testAuthority(name = 'Test CA'): Promise<TestCertificate> {
  const made = await generate([{ name: 'commonName', value: name }], {
    ...{ keyType: 'ec', algorithm: 'sha256', notAfterDate: new Date(Date.now() + day) },
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** A certificate for DNS names, for both sides of a connection, signed by an authority. */
export async function signedBy(ca: TestCertificate, ...names: string[]): Promise<TestCertificate> {
  const made = await generate([{ name: 'commonName', value: names[0] ?? '' }], {
    ...{ keyType: 'ec', algorithm: 'sha256', notAfterDate: new Date(Date.now() + day), ca },
    extensions: [
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      { name: 'subjectAltName', altNames: names.map((value) => ({ type: 2, value })) },
    ],
  });
  return { cert: made.cert, key: made.private };
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
  readonly #secret: MountedSecret;

  constructor(folder: string) {
    this.#secret = new MountedSecret(folder);
    const file = (setting: string, name: string) => ({ setting, path: this.#secret.path(name) });
    this.files = new CertificateFiles({
      ca: file('INTERNAL_TLS_CA', 'ca.crt'),
      cert: file('INTERNAL_TLS_CERT', 'tls.crt'),
      key: file('INTERNAL_TLS_KEY', 'tls.key'),
      log: createLogger('test', 'silent'),
      everyMs: 20,
    });
  }

  /** Replaces the certificate, and the authorities that it trusts. */
  async write({ cert, key }: TestCertificate, ...trusted: TestCertificate[]): Promise<void> {
    const ca = trusted.map((authority) => authority.cert).join('\n');
    await this.#secret.write({ 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key });
  }
}
