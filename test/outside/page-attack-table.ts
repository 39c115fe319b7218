/** Attacks by pages of other origins on the session of a person. The browser decides what goes along. */

export interface Attack {
  name: string;
  /**
   * Runs in a page of another origin, as the body of an async function. `gateway` is the origin that it attacks. Its
   * result is what it could read.
   */
  script: string;
  /**
   * The statuses by which the gateway refuses it from another port of its host, whose requests carry the cookie, and
   * from another site; null where the browser sends nothing but a preflight.
   */
  refused: readonly [sameSite: number | null, crossSite: number | null];
}

const form = (
  path: string,
  fields: Record<string, string>,
  type = 'application/x-www-form-urlencoded',
): string => `
  const form = document.createElement('form');
  Object.assign(form, { method: 'post', action: gateway + ${JSON.stringify(path)}, enctype: '${type}' });
  for (const [name, value] of Object.entries(${JSON.stringify(fields)})) {
    const field = document.createElement('input');
    Object.assign(field, { name, value });
    form.append(field);
  }
  document.body.append(form);
  form.submit();
  return '';`;

const send = (path: string, init: string): string => `
  const answer = await fetch(gateway + ${JSON.stringify(path)}, ${init}).catch(() => null);
  return answer === null ? '' : await answer.text();`;

const agent = JSON.stringify({ key: 'stolen', model: 'gpt-4.1-mini' });

/** `key` is one of the attacker's own. */
export const attacksWith = (key: string): readonly Attack[] => [
  {
    name: 'a form whose plain text is JSON',
    script: form('/v1/agents', { '{"key":"stolen","model":"gpt-4.1-mini","name":"': '"}' }, 'text/plain'),
    refused: [403, 401],
  },
  { name: 'a form that logs in', script: form('/login', { key }), refused: [403, 403] },
  { name: 'a form that logs out', script: form('/logout', {}), refused: [403, 403] },
  {
    name: 'a form with the ticket of a link',
    script: form('/login/link', { ticket: 'a'.repeat(43) }),
    refused: [403, 403],
  },
  {
    name: 'a form that allows a program',
    script: form('/device', { user_code: 'BBBB-BBBB', decision: 'allow' }),
    refused: [403, 403],
  },
  {
    name: 'a request without preflight',
    script: send(
      '/v1/agents',
      `{ method: 'POST', mode: 'no-cors', credentials: 'include', body: '${agent}' }`,
    ),
    refused: [403, 401],
  },
  {
    name: 'a beacon',
    script: `navigator.sendBeacon(gateway + '/v1/agents', '${agent}'); return '';`,
    refused: [403, 401],
  },
  {
    name: 'a request with a preflight',
    script: send(
      '/v1/agents',
      `{ method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '${agent}' }`,
    ),
    refused: [null, null],
  },
  {
    name: 'a request with the header of pages',
    script: send('/v1/session', `{ credentials: 'include', headers: { 'x-gatehouse-page': '1' } }`),
    refused: [null, null],
  },
  {
    name: 'a request through the relay of the console',
    script: send(
      '/api-docs/proxy/v1/agents',
      `{ method: 'POST', mode: 'no-cors', credentials: 'include', body: '${agent}' }`,
    ),
    refused: [401, 401],
  },
  {
    name: 'a read with the session',
    script: send('/v1/session', `{ credentials: 'include' }`),
    refused: [403, 401],
  },
  {
    name: 'a script that is an answer',
    script: `
      const script = document.createElement('script');
      script.src = gateway + '/v1/session';
      return new Promise((resolve) => {
        script.onload = () => resolve('loaded');
        script.onerror = () => resolve('');
        document.body.append(script);
      });`,
    refused: [403, 401],
  },
  {
    name: 'a stream of events',
    script: `
      const source = new EventSource(gateway + '/v1/traces/follow', { withCredentials: true });
      return new Promise((resolve) => {
        source.onopen = () => resolve('open');
        source.onmessage = ({ data }) => resolve(data);
        source.onerror = () => source.readyState === EventSource.CLOSED && resolve('');
      });`,
    refused: [403, 401],
  },
  {
    name: 'a WebSocket',
    script: `
      const socket = new WebSocket(gateway.replace('http', 'ws') + '/v1/traces/follow');
      return new Promise((resolve) => {
        socket.onopen = () => resolve('open');
        socket.onerror = () => resolve('');
      });`,
    refused: [426, 426],
  },
  {
    name: 'a link to the API',
    script: `location.assign(gateway + '/v1/agents'); return '';`,
    refused: [403, 403],
  },
];
