import type { Shell } from '@gatehouse/shell/shell';
import { OAuthClient } from '../mcp/mcp-oauth.ts';
import { sealedColumn } from '../secrets/sealed-column.ts';
import type { Ground } from '../ground.ts';
import { LoginRevocations } from './login-revocations.ts';
import { LoginStore } from './login-store.ts';
import { accessOf, Logins } from './logins-client.ts';
import { secretsOfServers } from './server-secrets.ts';

/** Logins at MCP servers, and how requests to these are authenticated. */
export function createLogins({ log }: Shell, { config, app, egress, guard, raise }: Ground) {
  const { SECRETS_KEYRING: keyRing, PUBLIC_URL: publicUrl } = config;
  const store = new LoginStore(app, raise);
  const oauth = new OAuthClient({ egress, guard, publicUrl });
  const serverSecrets = secretsOfServers(keyRing);
  const column = sealedColumn(keyRing, 'mcp_logins');
  const revocations = new LoginRevocations({
    ...{ oauth, log },
    isInUse: (owner, clientId) => store.isGrantInUse(owner, clientId),
  });
  const logins = new Logins({ store, oauth, column, serverSecrets, revocations, log });
  return {
    parts: [revocations],
    ...{ oauth, serverSecrets, logins, store, accessOf: accessOf(logins, serverSecrets) },
  };
}
