import type { IncomingMessage, ServerResponse } from 'node:http';

/** With the rest of a document, less than 256 KiB. */
const bytes = 250_000;
const listOf = (element: string): string =>
  `[${element}${`,${element}`.repeat(bytes / (element.length + 1))}]`;
const json = { 'content-type': 'application/json' };

/** Documents as large as they may be, by the place in the conversation that they are the answer to. */
const worst: Readonly<Record<string, string>> = {
  values: listOf('1'),
  objects: listOf('{}'),
  /** As many as are read, each as large as fits. */
  wrong: `[${Array(1_900).fill('1'.repeat(120)).join(',')}]`,
  deep: `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  escapes: `"${'\\"'.repeat(bytes / 2)}"`,
};
export const oauthShapes = Object.keys(worst);
/** Documents of an authorization server, in the order in which a client reads them. */
export const oauthDocuments = ['resource', 'metadata', 'token'] as const;

/**
 * Answers as the MCP server `/oauth/<document>/<shape>` and its authorization server, which is the same: all is right up to
 * that document.
 */
export function answerAsAuthorization(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '';
  const [, document = '', shape = ''] = /\/oauth\/(\w+)\/(\w+)/.exec(path) ?? [];
  const base = `http://${request.headers.host ?? ''}/oauth/${document}/${shape}`;
  const harm = worst[shape] ?? '[]';
  const answer = (of: string, fields: object): void => {
    const text = JSON.stringify(fields);
    const hostile = `${text.slice(0, -1)},"${of === 'token' ? 'scope' : 'scopes_supported'}":${harm}}`;
    response.writeHead(200, json).end(of === document ? hostile : text);
  };
  if (path.includes('oauth-protected-resource'))
    answer('resource', { resource: base, authorization_servers: [base] });
  else if (path.includes('.well-known'))
    answer('metadata', {
      ...{ issuer: base, authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token` },
      ...{ response_types_supported: ['code'], grant_types_supported: ['client_credentials'] },
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    });
  else if (path.endsWith('/token')) answer('token', { access_token: 'a', token_type: 'Bearer' });
  else {
    const metadata = `http://${request.headers.host ?? ''}/.well-known/oauth-protected-resource/oauth/${document}/${shape}`;
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
  }
}
