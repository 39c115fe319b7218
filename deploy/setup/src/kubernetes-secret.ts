import { readFile } from 'node:fs/promises';
import type { PlaceConfig } from './config.ts';

/** Entries of a Secret as plain text. */
export type SecretEntries = Readonly<Record<string, string>>;

interface StoredSecret {
  metadata: { resourceVersion: string };
  data?: Record<string, string>;
}

const timeoutMs = 10_000;
/** Another setup may write between our reading and our writing; then we read again. */
const attempts = 5;

/** One Secret of the cluster, through the Kubernetes API as the pod's service account. */
export class KubernetesSecret {
  readonly #config: PlaceConfig;

  constructor(config: PlaceConfig) {
    this.#config = config;
  }

  /**
   * Adds the entries that `complete` finds missing, making the Secret if there is none; what it holds stays as it is.
   * Gives back the names of what was added. Throws for any answer of the API but success.
   */
  async add(complete: (known: SecretEntries) => Promise<SecretEntries>): Promise<string[]> {
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.#read();
      const added = await complete(decode(stored?.data ?? {}));
      if (stored !== null && Object.keys(added).length === 0) return [];
      const status = await (stored === null ? this.#create(added) : this.#patch(stored, added));
      if (status < 300) return Object.keys(added);
      const overtaken = status === 409;
      if (!overtaken || attempt === attempts) throw new Error(`writing the secret was answered ${status}`);
    }
  }

  /** Deletes it; one that is gone already is fine. */
  async remove(): Promise<void> {
    const { status } = await this.#call('DELETE', this.#path);
    if (status >= 300 && status !== 404) throw new Error(`deleting the secret was answered ${status}`);
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
    if (!answer.ok) throw new Error(`reading the secret was answered ${answer.status}`);
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

  /** The version that was read makes the API refuse (409) when another one has written since. */
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
