import type { McpAuth } from '@gatehouse/contract/mcp-auth';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { ActionForm } from './action-form.tsx';
import { Choice, TextField } from './fields.tsx';

const logins: Record<Exclude<McpAuth['type'], 'headers'> | 'oauth_per_user', string> = {
  none: 'nothing',
  bearer: 'a token',
  oauth_client_credentials: 'OAuth, as a client',
  oauth: 'OAuth, by one consent for all',
  oauth_per_user: 'OAuth, by a consent of each user',
};

const trusts = { pin: 'wait for a review', follow: 'are offered at once' };

/** Registers a server whose tools agents may use. */
export function NewMcpServerForm({ onCreated }: { onCreated: (secret: null) => void }) {
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [login, setLogin] = useState<string>('none');
  const [client, setClient] = useState('');
  const [secret, setSecret] = useState('');
  const [trust, setTrust] = useState('pin');
  const create = useAction('POST /v1/mcp/servers');
  const submit = async (): Promise<void> => {
    const auth = authOf(login, client, secret);
    const made = await create.run({
      body: { name, url, auth, trust: trust === 'follow' ? trust : 'pin' },
    });
    if (made !== null) onCreated(null);
  };
  const isClient = login.startsWith('oauth');
  const needsClient = login === 'oauth_client_credentials';
  return (
    <ActionForm label="Register" action={create} submit={submit}>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        isRequired
        maxLength={64}
        hint="Lower case: models get its tools as NAME__TOOL"
      />
      <TextField label="Address" value={url} onChange={setUrl} isRequired maxLength={2_000} />
      <Choice label="Asks for" value={login} onChange={setLogin} options={logins} />
      {isClient ? (
        <TextField
          label="Client id"
          value={client}
          onChange={setClient}
          maxLength={2_000}
          {...(needsClient ? { isRequired: true } : { hint: 'Empty: the gateway registers itself' })}
        />
      ) : null}
      {login === 'bearer' || needsClient || client !== '' ? (
        <TextField
          label={login === 'bearer' ? 'Token' : 'Client secret'}
          value={secret}
          onChange={setSecret}
          maxLength={8_192}
          {...((login === 'bearer' || needsClient) && { isRequired: true })}
          hint="It is never shown again"
        />
      ) : null}
      <Choice label="Tools that change" value={trust} onChange={setTrust} options={trusts} />
    </ActionForm>
  );
}

function authOf(login: string, client: string, secret: string): McpAuth {
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
