import type { McpAuth } from '@gatehouse/contract/mcp-auth';
import { ActionForm } from './action-form.tsx';
import { Choice, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

const logins: Record<Exclude<McpAuth['type'], 'headers'> | 'oauth_per_user', string> = {
  none: 'None',
  bearer: 'Bearer token',
  oauth_client_credentials: 'OAuth 2.0 client credentials',
  oauth: 'OAuth 2.0, one login for the tenant',
  oauth_per_user: 'OAuth 2.0, a login per user',
};

const trusts = { pin: 'Require a review', follow: 'Accept' };

/** Registers a server with tools for agents. */
export function NewMcpServerForm({ onCreated }: { onCreated: (secret: null) => void }) {
  const { values, field } = useFields({
    ...{ name: '', url: '', client: '', secret: '' },
    ...{ login: 'none' as keyof typeof logins, trust: 'pin' as keyof typeof trusts },
  });
  const { name, url, login, client, secret, trust } = values;
  const needsClient = login === 'oauth_client_credentials';
  const needsSecret = login === 'bearer' || needsClient;
  return (
    <ActionForm
      label="Register"
      name="POST /v1/mcp/servers"
      input={() => ({ body: { name, url, auth: authOf(login, client, secret), trust } })}
      onDone={() => onCreated(null)}
    >
      <TextField
        label="Name"
        {...field('name')}
        isRequired
        maxLength={64}
        hint="Lower case: models get its tools as NAME__TOOL"
      />
      <TextField label="URL" {...field('url')} isRequired maxLength={2_000} />
      <Choice label="Authentication" {...field('login')} options={logins} />
      {login.startsWith('oauth') ? (
        <TextField
          label="Client ID"
          {...field('client')}
          maxLength={2_000}
          {...(needsClient ? { isRequired: true } : { hint: 'Empty: dynamic client registration' })}
        />
      ) : null}
      {needsSecret || client !== '' ? (
        <TextField
          label={login === 'bearer' ? 'Token' : 'Client secret'}
          {...field('secret')}
          maxLength={8_192}
          isRequired={needsSecret}
          hint="It is never shown again"
        />
      ) : null}
      <Choice label="Changed tools" {...field('trust')} options={trusts} />
    </ActionForm>
  );
}

function authOf(login: keyof typeof logins, client: string, secret: string): McpAuth {
  switch (login) {
    case 'bearer':
      return { type: 'bearer', token: secret };
    case 'oauth_client_credentials':
      return { type: 'oauth_client_credentials', client_id: client, client_secret: secret };
    case 'oauth':
    case 'oauth_per_user':
      return {
        ...{ type: 'oauth', per_user: login === 'oauth_per_user' },
        ...(client !== '' && { client_id: client, ...(secret !== '' && { client_secret: secret }) }),
      };
    default:
      return { type: 'none' };
  }
}
