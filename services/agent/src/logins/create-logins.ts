import type { Egress } from '@gatehouse/egress/egress';
import type { Guard } from '@gatehouse/egress/guard';
import type { Pool } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/service/published-alerts';
import type { Shell } from '@gatehouse/service/shell';
import type { AgentConfig } from '../config.ts';
import { OAuthClient } from '../mcp/oauth-client.ts';
import { SealedColumn } from '../secrets/sealed-column.ts';
import { accessOf } from './access-of.ts';
import { LoginStore } from './login-store.ts';
import { Logins } from './logins.ts';
import { ServerSecrets } from './server-secrets.ts';

export interface LoginsOptions {
  config: AgentConfig;
  app: Pool;
  egress: Egress;
  guard: Guard;
  raise: RaiseAlert;
}

/** Logins at MCP servers, and how requests to these are authenticated. */
export function createLogins({ log }: Shell, { config, app, egress, guard, raise }: LoginsOptions) {
  const { SECRETS_KEYRING: keyRing, PUBLIC_URL: publicUrl } = config;
  const store = new LoginStore(app, raise);
  const oauth = new OAuthClient({ egress, guard, publicUrl });
  const serverSecrets = new ServerSecrets(keyRing);
  const column = new SealedColumn(keyRing, 'mcp_logins');
  const logins = new Logins({ store, oauth, column, serverSecrets, log });
  return { oauth, serverSecrets, logins, store, accessOf: accessOf(logins, serverSecrets) };
}
