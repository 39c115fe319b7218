import { readFile } from 'node:fs/promises';
import type { PlaceConfig } from './config.ts';

/** Entries of a Secret as plain text. */
export type SecretEntries = Readonly<Record<string, string>>;

interface StoredSecret {
  metadata: { resourceVersion: string };
  data?: Record<string, string>;
}

const timeoutMs = 10_000;
/** Another setup may write between the read and the write of this one, which then starts again. */
const attempts = 5;

/** A Secret, accessed through the Kubernetes API as the service account of the pod. */
export class KubernetesSecret {
  readonly #config: PlaceConfig;

  constructor(config: PlaceConfig) {
    this.#config = config;
  }

  /**
   * Adds the entries returned by `complete`, and creates the Secret if necessary. Existing entries stay unchanged.
   * Returns the names of the added entries. Throws for any error response of the API.
   */
  async add(complete: (known: SecretEntries) => Promise<SecretEntries>): Promise<string[]> {
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.#read();
      const added = await complete(decode(stored?.data ?? {}));
      if (stored !== null && Object.keys(added).length === 0) return [];
      const status = await (stored === null ? this.#create(added) : this.#patch(stored, added));
      if (status < 300) return Object.keys(added);
      const conflict = status === 409;
      if (!conflict || attempt === attempts)
        throw new Error(`failed to write the secret: the Kubernetes API returned ${status}`);
    }
  }

  /** Deletes the Secret; does nothing if it does not exist. */
  async remove(): Promise<void> {
    const { status } = await this.#call('DELETE', this.#path);
    if (status >= 300 && status !== 404)
      throw new Error(`failed to delete the secret: the Kubernetes API returned ${status}`);
  }

  get #collection(): string {
    return `/api/v1/namespaces/${encodeURIComponent(this.#config.NAMESPACE)}/secrets`;
  }

  get #path(): string {
    return `${this.#collection}/${encodeURIComponent(this.#config.SECRET_NAME)}`;
  }

  async #read(): Promise<StoredSecret | null> {
    const answer = await this.#call('GET', this.#path);
    if (answer.status === 404) return null;
    if (!answer.ok)
      throw new Error(`failed to read the secret: the Kubernetes API returned ${answer.status}`);
    return (await answer.json()) as StoredSecret;
  }

  async #create(entries: SecretEntries): Promise<number> {
    const labels = {
      'app.kubernetes.io/part-of': 'gatehouse',
      'app.kubernetes.io/managed-by': 'gatehouse-setup',
    };
    const metadata = { name: this.#config.SECRET_NAME, labels };
    const secret = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data: encode(entries) };
    return (await this.#call('POST', this.#collection, secret)).status;
  }

  /** With the version read before, the API returns 409 if the Secret has changed since. */
  async #patch(stored: StoredSecret, entries: SecretEntries): Promise<number> {
    const { resourceVersion } = stored.metadata;
    const patch = { metadata: { resourceVersion }, data: encode(entries) };
    return (await this.#call('PATCH', this.#path, patch)).status;
  }

  async #call(method: string, path: string, body?: unknown): Promise<Response> {
    const token = (await readFile(this.#config.TOKEN_FILE, 'utf8')).trim();
    return fetch(new URL(path, this.#config.KUBERNETES_API), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
  }
}

function encode(entries: SecretEntries): Record<string, string> {
  return mapValues(entries, (text) => Buffer.from(text).toString('base64'));
}

function decode(data: Record<string, string>): SecretEntries {
  return mapValues(data, (text) => Buffer.from(text, 'base64').toString());
}

function mapValues(record: SecretEntries, map: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}
