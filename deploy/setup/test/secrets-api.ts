import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface StoredSecret {
  metadata: { name: string; resourceVersion?: string };
  data: Record<string, string>;
}

interface Answer {
  status: number;
  body?: unknown;
}

/**
 * The Secrets part of the Kubernetes API with its version checks: a second create, and a patch of an outdated version,
 * get 409.
 */
export class SecretsApi {
  readonly token = 'token-of-the-service-account';
  /** If set, the status of every response. */
  failure: number | null = null;
  /** Number of calls that must have arrived before any is answered, to make readers race. */
  meeting = 1;
  readonly #secrets = new Map<string, StoredSecret>();
  readonly #server: Server;
  #version = 0;
  #arrived = 0;
  #waiting: (() => void)[] = [];

  constructor() {
    this.#server = createServer((request, response) => {
      void this.#answer(request).then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}));
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The decoded content of a Secret; null if it does not exist. */
  entries(namespace: string, name: string): Record<string, string> | null {
    const secret = this.#secrets.get(`/api/v1/namespaces/${namespace}/secrets/${name}`);
    if (secret === undefined) return null;
    const decoded = Object.entries(secret.data).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString(),
    ]);
    return Object.fromEntries(decoded) as Record<string, string>;
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const body = await readJson(request);
    await this.#meet();
    if (request.headers.authorization !== `Bearer ${this.token}`) return { status: 401 };
    if (this.failure !== null) return { status: this.failure };
    const path = request.url ?? '';
    switch (request.method) {
      case 'GET':
        return this.#secrets.has(path) ? { status: 200, body: this.#secrets.get(path) } : { status: 404 };
      case 'POST':
        return this.#create(path, body as StoredSecret);
      case 'PATCH':
        return this.#patch(path, request.headers['content-type'], body as StoredSecret);
      case 'DELETE':
        return { status: this.#secrets.delete(path) ? 200 : 404 };
      default:
        return { status: 405 };
    }
  }

  #create(collection: string, secret: StoredSecret): Answer {
    const path = `${collection}/${secret.metadata.name}`;
    if (this.#secrets.has(path)) return { status: 409 };
    this.#keep(path, secret);
    return { status: 201 };
  }

  #patch(path: string, type: string | undefined, patch: StoredSecret): Answer {
    const secret = this.#secrets.get(path);
    if (secret === undefined) return { status: 404 };
    if (type !== 'application/merge-patch+json') return { status: 415 };
    const { resourceVersion } = patch.metadata;
    if (resourceVersion !== undefined && resourceVersion !== secret.metadata.resourceVersion)
      return { status: 409 };
    this.#keep(path, { ...secret, data: { ...secret.data, ...patch.data } });
    return { status: 200 };
  }

  #keep(path: string, secret: StoredSecret): void {
    const resourceVersion = String((this.#version += 1));
    this.#secrets.set(path, { ...secret, metadata: { ...secret.metadata, resourceVersion } });
  }

  async #meet(): Promise<void> {
    this.#arrived += 1;
    if (this.#arrived < this.meeting) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      return;
    }
    for (const go of this.#waiting.splice(0)) go();
  }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? null : (JSON.parse(text) as unknown);
}
