import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { AuthSecrets, McpServer } from '../mcp/mcp-server.ts';
import { sealedColumn } from '../secrets/sealed-column.ts';

type Row = Pick<McpServer, 'tenantId' | 'id'>;

export type ServerSecrets = ReturnType<typeof secretsOfServers>;

/** Encrypts and decrypts what authenticates requests to servers. */
export function secretsOfServers(keyRing: KeyRing) {
  const column = sealedColumn(keyRing, 'mcp_servers');
  return {
    seal: (server: Row, secrets: AuthSecrets): Buffer => column.seal(server, JSON.stringify(secrets)),
    open: (server: Row, sealed: Buffer) => JSON.parse(column.open(server, sealed)) as AuthSecrets,
  };
}
