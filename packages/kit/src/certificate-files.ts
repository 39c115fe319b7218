import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { BackgroundLoop } from './background-loop.ts';
import { wrongSettings } from './config.ts';
import type { Logger } from './log.ts';

/** A certificate with its chain, its private key and, for mutual TLS, the CAs that sign the other side's. All PEM. */
export interface Certificate {
  cert: Buffer;
  key: Buffer;
  ca: Buffer | undefined;
  /** The same for clients of Node. */
  context: SecureContext;
}

/** The oldest version of TLS that is spoken. */
export const minTlsVersion = 'TLSv1.2';

/** A file and the setting that names it. */
export interface NamedFile {
  setting: string;
  path: string;
}

export interface CertificateFilesOptions {
  cert: NamedFile;
  key: NamedFile;
  ca?: NamedFile | undefined;
  log: Logger;
  /** Interval between two reads of the files. */
  everyMs?: number;
}

const defaultEveryMs = 10_000;

/**
 * A certificate in files, which are read again every ten seconds: a renewed certificate serves new connections without
 * a restart. Files are read rather than watched, because Kubernetes swaps symbolic links above them. Files that are
 * missing, malformed or don't match are logged once, and the last good certificate stays.
 */
export class CertificateFiles {
  readonly #options: CertificateFilesOptions;
  readonly #loop: BackgroundLoop;
  readonly #listeners = new Set<(certificate: Certificate) => void>();
  #current: Certificate | undefined;
  #problem: string | null = null;

  constructor(options: CertificateFilesOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop(() => this.#refresh());
  }

  /** The last good certificate. Throws before the start. */
  get current(): Certificate {
    if (this.#current === undefined) throw new Error('the certificate is read at the start');
    return this.#current;
  }

  /** Calls a listener with the certificate, and with each further one, until the returned function is called. */
  subscribe(listener: (certificate: Certificate) => void): () => void {
    this.#listeners.add(listener);
    if (this.#current !== undefined) listener(this.#current);
    return () => this.#listeners.delete(listener);
  }

  /** Reads the files. Throws a `ConfigError` with the settings of those that are wrong. */
  async start(): Promise<void> {
    this.#use(await this.#read());
    this.#loop.start(this.#options.everyMs ?? defaultEveryMs);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #refresh(): Promise<number> {
    const { log, everyMs = defaultEveryMs } = this.#options;
    try {
      const read = await this.#read();
      this.#problem = null;
      if (!isSame(read, this.current)) this.#use(read);
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#problem)
        log.error({ err: error }, 'failed to load a changed certificate; the one before stays in use');
      this.#problem = message;
    }
    return everyMs;
  }

  async #read(): Promise<Certificate> {
    const { cert, key, ca } = this.#options;
    const [certText, keyText, caText] = await Promise.all([
      textOf(cert),
      textOf(key),
      ca === undefined ? undefined : textOf(ca),
    ]);
    const texts = { cert: certText, key: keyText, ca: caText };
    try {
      // OpenSSL ignores malformed CAs.
      if (caText !== undefined) void new X509Certificate(caText);
      return { ...texts, context: createSecureContext({ ...texts, minVersion: minTlsVersion }) };
    } catch (error) {
      const names = [cert, key, ca].filter((file) => file !== undefined).map(({ setting }) => setting);
      const message = `${names.join(', ')}: no certificate in PEM with its private key: ${(error as Error).message}`;
      throw wrongSettings([message], { cause: error });
    }
  }

  #use(certificate: Certificate): void {
    this.#current = certificate;
    for (const listener of this.#listeners) listener(certificate);
    const { log, cert } = this.#options;
    const { subjectAltName, validToDate } = new X509Certificate(certificate.cert);
    const fields = { setting: cert.setting, names: subjectAltName, not_after: validToDate };
    if (validToDate.getTime() < Date.now()) log.error(fields, 'loaded a certificate that has expired');
    else log.info(fields, 'loaded a certificate');
  }
}

async function textOf({ setting, path }: NamedFile): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw wrongSettings([`${setting}: ${(error as Error).message}`], { cause: error });
  }
}

function isSame(one: Certificate, other: Certificate): boolean {
  const isEqual = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
    a === undefined || b === undefined ? a === b : a.equals(b);
  return isEqual(one.cert, other.cert) && isEqual(one.key, other.key) && isEqual(one.ca, other.ca);
}

/** Files of settings that belong together: all of them, or undefined if none is set. Throws a `ConfigError` otherwise. */
export function filesOf<Name extends string>(
  settings: Readonly<Record<Name, string>>,
): Readonly<Record<Name, NamedFile>> | undefined {
  const entries = Object.entries<string>(settings);
  const missing = entries.filter(([, path]) => path === '').map(([setting]) => setting);
  if (missing.length === entries.length) return undefined;
  if (missing.length > 0)
    throw wrongSettings(
      missing.map(
        (name) =>
          `${name}: is needed with ${entries
            .map(([setting]) => setting)
            .filter((s) => s !== name)
            .join(' and ')}`,
      ),
    );
  // Each setting has become a file.
  return Object.fromEntries(entries.map(([setting, path]) => [setting, { setting, path }])) as Record<
    Name,
    NamedFile
  >;
}
