import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { loopback } from './ports.ts';
import { StartError } from './start-error.ts';

/** Reads the edge's certificate in PEM. Throws a `StartError` for a file without one. */
export async function readCertificate(file: string): Promise<Buffer> {
  try {
    const text = await readFile(file);
    void new X509Certificate(text);
    return text;
  } catch (error) {
    throw new StartError(`TLS_CERT names no certificate in PEM: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** The URL of this machine's gateway: of the name that its certificate has, `localhost` where it hasn't the address. */
export function urlOf(port: number, certificate: Buffer | undefined): string {
  if (certificate === undefined) return `http://${loopback}:${port}`;
  const isForLocalhost = new X509Certificate(certificate).checkHost('localhost') !== undefined;
  return `https://${isForLocalhost ? 'localhost' : loopback}:${port}`;
}
