import { rename, symlink, writeFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
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
