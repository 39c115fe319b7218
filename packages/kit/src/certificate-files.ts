import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type PeerCertificate, type SecureContext } from 'node:tls';
import { BackgroundLoop } from './background-loop.ts';
import { dayMs } from './bounds.ts';
import {
  certificatesIn,
  firstToExpire,
  validityOf,
  warnsFrom,
  type Validity,
} from './certificate-validity.ts';
import { nowMs } from './clock.ts';
import { wrongSettings } from './config.ts';
import type { Logger } from './log.ts';
import { gauge, type Gauge, type Registry } from './metrics.ts';
import { RefusedConnections } from './refused-connections.ts';

/** A certificate with its chain, its private key and, for mutual TLS, the CAs that sign the other side's. All PEM. */
export interface Certificate {
  cert: Buffer;
  key: Buffer;
  ca: Buffer | undefined;
  /** The same for clients of Node. */
  context: SecureContext;
  /** The validity of the first to expire: the certificate, one of its chain, or the newest CA. */
  validity: Validity;
  /** That of the certificate alone. */
  ownValidity: Validity;
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
  /** Gets the times from and until which the certificate is valid. */
  registry?: Registry | undefined;
  /** Interval between two reads of the files. */
  everyMs?: number;
  /** The wall clock in milliseconds. */
  now?: () => number;
}

const defaultEveryMs = 10_000;

/**
 * A certificate in files, which are read again every ten seconds: a renewed certificate serves new connections without
 * a restart. Files are read rather than watched, because Kubernetes swaps symbolic links above them. Files that are
 * missing, malformed or don't match are logged once, and the last good certificate stays. One that expires soon is
 * logged once a day.
 */
export class CertificateFiles {
  /** The log of failed connections. */
  readonly refused: RefusedConnections;
  readonly #options: CertificateFilesOptions;
  readonly #loop: BackgroundLoop;
  readonly #listeners = new Set<(certificate: Certificate) => void>();
  readonly #times: Record<keyof Validity, Gauge<'setting'>> | undefined;
  readonly #now: () => number;
  #current: Certificate | undefined;
  #warnedAt = -Infinity;
  #problem: string | null = null;

  constructor(options: CertificateFilesOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop(() => this.#refresh());
    this.#times = options.registry && validityGauges(options.registry);
    this.#now = options.now ?? nowMs;
    this.refused = new RefusedConnections(options.log);
  }

  /** The last good certificate. Throws before the start. */
  get current(): Certificate {
    if (this.#current === undefined) throw new Error('the certificate is read at the start');
    return this.#current;
  }

  /**
   * The error of connecting to another service once the certificate has expired, else undefined. The other side would
   * only close the connection, in TLS 1.3 after the client has begun to send. Others of the chain may have expired: the
   * other side may find another chain, as from a cross-signed certificate.
   */
  expired(): Error | undefined {
    const { ownValidity: validity } = this.current;
    if (this.#now() < validity.notAfter) return undefined;
    const { setting } = this.#options.cert;
    const error = new Error(
      `${setting} of this service expired at ${new Date(validity.notAfter).toISOString()}`,
    );
    return Object.assign(error, { code: 'CERT_HAS_EXPIRED', syscall: 'connect' });
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
    if (this.#now() - this.#warnedAt >= dayMs) this.#warnOfExpiry();
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
      // OpenSSL ignores malformed CAs, and all that follow.
      const chain = certificatesIn(certText);
      const validity = firstToExpire(chain, caText && certificatesIn(caText));
      const context = createSecureContext({ ...texts, minVersion: minTlsVersion });
      return { ...texts, validity, ownValidity: validityOf(chain[0]), context };
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
    const { setting } = cert;
    const { validity } = certificate;
    this.#times?.notBefore.set({ setting }, validity.notBefore / 1_000);
    this.#times?.notAfter.set({ setting }, validity.notAfter / 1_000);
    log.info({ setting, ...fieldsOf(certificate) }, 'loaded a certificate');
    this.#warnOfExpiry();
  }

  #warnOfExpiry(): void {
    const { validity } = this.current;
    if (this.#now() < warnsFrom(validity)) return;
    this.#warnedAt = this.#now();
    const { log, cert } = this.#options;
    const fields = { setting: cert.setting, ...fieldsOf(this.current) };
    if (this.#now() < validity.notAfter) log.warn(fields, 'a certificate expires soon');
    else if (this.expired() === undefined)
      log.error(fields, 'a certificate of the chain or the CA has expired: connections may fail');
    else log.error(fields, 'a certificate has expired: no connection with it succeeds');
  }
}

/** The names of a certificate, and the time until which it can be used. */
function fieldsOf({ cert, validity }: Certificate): { names: string | undefined; not_after: Date } {
  return { names: new X509Certificate(cert).subjectAltName, not_after: new Date(validity.notAfter) };
}

/** The gauges of a registry, which several certificates share. */
function validityGauges(registry: Registry): Record<keyof Validity, Gauge<'setting'>> {
  const timeOf = (name: string, help: string): Gauge<'setting'> =>
    (registry.getSingleMetric(name) as Gauge<'setting'> | undefined) ??
    gauge(registry, name, help, ['setting']);
  return {
    notBefore: timeOf(
      'gatehouse_certificate_not_before_timestamp_seconds',
      'Time from which the one of the certificate, its chain and its CA that expires first is valid',
    ),
    notAfter: timeOf(
      'gatehouse_certificate_not_after_timestamp_seconds',
      'Time until which the certificate, its chain and its CA are valid',
    ),
  };
}

/** Whether a certificate is one of a service: it has the name as a DNS name. Its subject has no effect. */
export function hasServiceName(certificate: X509Certificate, name: string): boolean {
  return certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined;
}

/** Node's `checkServerIdentity` for the name of a service, without Node's fallback to the subject. */
export function checkServiceName(name: string, { raw }: PeerCertificate): Error | undefined {
  const certificate = new X509Certificate(raw);
  if (hasServiceName(certificate, name)) return undefined;
  const { subjectAltName = 'no DNS name' } = certificate;
  const error = new Error(`the certificate of the ${name} service has ${subjectAltName}, not DNS:${name}`);
  return Object.assign(error, { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
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
