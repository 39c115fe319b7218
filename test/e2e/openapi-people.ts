import type { LocalCredentials } from '@gatehouse/local/credentials';

/** Makes a key that is bound to a user, and returns its text. */
export async function makePersonKey({ url, admin_key: key }: LocalCredentials): Promise<string> {
  const body = { name: 'A person', role: 'user', user_id: 'grace' };
  const made = await fetch(`${url}/v1/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return ((await made.json()) as { key: string }).key;
}

/** Opens one more session of the user's key, and returns its id. */
export async function openSession({ url, user_key: key }: LocalCredentials): Promise<string> {
  await fetch(`${url}/login/key`, {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin', 'x-gatehouse-page': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  const listed = await fetch(`${url}/v1/me/sessions?limit=1`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { data } = (await listed.json()) as { data: { id: string }[] };
  return data[0]?.id ?? '';
}

/** The tenant stores the content of the runs that follow. */
export async function storeContents({ url, admin_key: key }: LocalCredentials): Promise<void> {
  const response = await fetch(`${url}/v1/tenant/settings`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'full' }),
  });
  if (!response.ok) throw new Error(await response.text());
}
