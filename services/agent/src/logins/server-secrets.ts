import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { AuthSecrets, McpServer } from '../mcp/mcp-server.ts';
import { SealedColumn } from '../secrets/sealed-column.ts';

/** Encrypts and decrypts what authenticates requests to servers. */
export class ServerSecrets {
  readonly #column: SealedColumn;

  constructor(keyRing: KeyRing) {
    this.#column = new SealedColumn(keyRing, 'mcp_servers');
  }

  seal(server: Pick<McpServer, 'tenantId' | 'id'>, secrets: AuthSecrets): Buffer {
    return this.#column.seal(server, JSON.stringify(secrets));
  }

  open(server: Pick<McpServer, 'tenantId' | 'id'>, sealed: Buffer): AuthSecrets {
    return JSON.parse(this.#column.open(server, sealed)) as AuthSecrets;
  }
}
